//! Times steps of a component on a host against messages of raw TCP, in one run: `remote_step FOLDER`, on this machine, or
//! `remote_step serve FOLDER ADDRESS KEYS` there and `remote_step measure FOLDER ADDRESS KEYS` here.
//!
//! The folder has the FMUs of `cargo xtask fmus`. Prints the time of a round trip of 64 bytes over TCP. Prints the time of steps
//! in plain text, on this machine alone, and encrypted, each at half of the cases and at 99 of 100. Also prints the time of
//! macro-steps of one and of eight components whose steps wait for 2 ms.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    #[cfg(target_os = "linux")]
    linux::main()?;
    Ok(())
}

#[cfg(target_os = "linux")]
mod linux {
    use std::error::Error;
    use std::io::{Read as _, Write as _};
    use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
    use std::path::Path;
    use std::process::{Child, Command};
    use std::sync::{Arc, Mutex};
    use std::time::{Duration, Instant};

    use gyrator::error::LoadError;
    use gyrator::unit::{InProcess, StepOutcome, UnitMaker, UnitOrder, UnitResult, UnitWrapper};
    use gyrator::{RunOptions, System, Unit};
    use gyrator_remote::access::{self, Access, Tokens, Validity};
    use gyrator_remote::server::{Admission, ServerOptions};
    use gyrator_remote::{RemoteUnits, Server};
    use gyrator_system::{Component, RemoteHost, Spanned, SystemFile, Value};

    type Outcome<T> = Result<T, Box<dyn Error>>;

    const RAW: u16 = 7440;
    const PLAIN: u16 = 7441;
    const TLS: u16 = 7443;
    const ROUNDS: usize = 20_000;
    const WARM_UP: usize = 2_000;

    pub(crate) fn main() -> Outcome<()> {
        gyrator_worker::hook(|_| 0);
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        match arguments.as_slice() {
            [folder] => on_this_machine(Path::new(folder)),
            ["serve", folder, address, keys] => serve(folder, address.parse()?, Path::new(keys)),
            ["measure", folder, address, keys] => {
                measure(Path::new(folder), address.parse()?, Path::new(keys))
            }
            _ => Err("remote_step FOLDER".into()),
        }
    }

    struct Ended(Child);

    impl Drop for Ended {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    fn on_this_machine(folder: &Path) -> Outcome<()> {
        let keys = tempfile::tempdir()?;
        let here = IpAddr::V4(Ipv4Addr::LOCALHOST);
        access::init(keys.path(), &[here.to_string()], Validity::days(1))?;
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("serve").arg(folder).arg(here.to_string());
        let _host = Ended(command.arg(keys.path()).spawn()?);
        measure(folder, here, keys.path())
    }

    fn serve(folder: &str, address: IpAddr, keys: &Path) -> Outcome<()> {
        let raw = TcpListener::bind(SocketAddr::new(address, RAW))?;
        std::thread::spawn(move || {
            for stream in raw.incoming().flatten() {
                let _ = echo(stream);
            }
        });
        let options = ServerOptions::new(folder);
        let notes = || Box::new(|_: &str| {});
        if address.is_loopback() {
            let tokens = Tokens::read(&keys.join("host"))?;
            let admission = Admission::PlainText(tokens);
            let at = SocketAddr::new(address, PLAIN);
            let plain = Server::bind(at, options.clone(), admission, notes())?;
            std::thread::spawn(move || plain.serve());
        }
        let admission = Admission::Tls(Access::of_host(keys)?);
        Server::bind(SocketAddr::new(address, TLS), options, admission, notes())?.serve()
    }

    fn echo(mut stream: TcpStream) -> std::io::Result<()> {
        stream.set_nodelay(true)?;
        let mut bytes = [0; 64];
        loop {
            stream.read_exact(&mut bytes)?;
            stream.write_all(&bytes)?;
        }
    }

    fn measure(folder: &Path, address: IpAddr, keys: &Path) -> Outcome<()> {
        let raw = raw(connected(SocketAddr::new(address, RAW))?)?;
        println!(
            "raw TCP, 64 bytes     {:6.1} µs, p99 {:6.1} µs",
            raw.0, raw.1
        );
        let mut ways = vec![("encrypted", format!("https://{address}:{TLS}"))];
        if address.is_loopback() {
            ways.insert(0, ("in plain text", format!("http://{address}:{PLAIN}")));
        }
        for (way, url) in ways {
            let step = step(folder, &url, keys)?;
            let ratio = step.0 / raw.0;
            println!(
                "step, {way:15} {:6.1} µs, p99 {:6.1} µs: {ratio:.1} × raw",
                step.0, step.1
            );
        }
        let url = format!("https://{address}:{TLS}");
        let [one, eight] = [1, 8].map(|count| waiting(folder, &url, keys, count));
        let (one, eight) = (one?, eight?);
        println!(
            "macro-step of components that wait 2 ms: one {one:.2} ms, eight {eight:.2} ms: {:.2} × one",
            eight / one
        );
        Ok(())
    }

    fn connected(address: SocketAddr) -> Outcome<TcpStream> {
        let begin = Instant::now();
        loop {
            match TcpStream::connect(address) {
                Ok(stream) => return Ok(stream),
                Err(error) if begin.elapsed() > Duration::from_secs(20) => return Err(error.into()),
                Err(_) => std::thread::sleep(Duration::from_millis(20)),
            }
        }
    }

    fn raw(mut stream: TcpStream) -> Outcome<(f64, f64)> {
        stream.set_nodelay(true)?;
        let (mut bytes, mut times) = ([7; 64], Vec::new());
        for _ in 0..WARM_UP + ROUNDS {
            let begin = Instant::now();
            stream.write_all(&bytes)?;
            stream.read_exact(&mut bytes)?;
            times.push(begin.elapsed());
        }
        Ok(quantiles(&times))
    }

    /// The median, and the time that 99 of 100 do not exceed, µs.
    fn quantiles(times: &[Duration]) -> (f64, f64) {
        let mut times = times.get(WARM_UP..).unwrap_or_default().to_vec();
        times.sort_unstable();
        let at = |share: f64| {
            let index = (share * times.len() as f64) as usize;
            times
                .get(index)
                .map_or(0.0, |time| 1e6 * time.as_secs_f64())
        };
        (at(0.5), at(0.99))
    }

    fn component(folder: &Path, name: &str, fmu: &str) -> Component {
        let mut component = Component::new(name, folder.join(fmu));
        component.host = Some(Spanned::unplaced("lab".to_owned()));
        component
    }

    fn hosted(url: &str, keys: &Path, step: f64) -> SystemFile {
        let mut file = SystemFile::new("hosted.toml");
        file.experiment.step_size = Some(Spanned::unplaced(step));
        file.hosts.push(RemoteHost {
            name: Spanned::unplaced("lab".to_owned()),
            url: Spanned::unplaced(url.to_owned()),
            access: Some(Spanned::unplaced(keys.join("client"))),
            keep_alive: None,
            upload: None,
        });
        file
    }

    /// Steps of a component that is fed and read.
    fn step(folder: &Path, url: &str, keys: &Path) -> Outcome<(f64, f64)> {
        let mut file = hosted(url, keys, 1e-3);
        file.components = vec![
            component(folder, "left", "OscillatorForce.fmu"),
            Component::new("right", folder.join("OscillatorMotion.fmu")),
        ];
        for (from, to) in [
            ("right.x", "left.x2"),
            ("right.v", "left.v2"),
            ("left.f", "right.f"),
        ] {
            file.connect(port(from), port(to));
        }
        let times = Arc::default();
        let mut maker = Timed {
            inner: RemoteUnits::new(&file, InProcess),
            times: Arc::clone(&times),
        };
        let system = System::from_file(file)?;
        let mut run = system.start_with(&RunOptions::default(), &mut maker)?;
        for _ in 0..WARM_UP + ROUNDS {
            run.step()?;
        }
        let times = times.lock().map_err(|_| "a thread has panicked")?;
        Ok(quantiles(&times))
    }

    fn port(text: &str) -> gyrator_system::Port {
        let (component, variable) = text.split_once('.').unwrap_or_default();
        gyrator_system::Port {
            component: component.to_owned(),
            variable: variable.to_owned(),
        }
    }

    /// Median of the macro-steps of so many components whose steps wait, ms.
    fn waiting(folder: &Path, url: &str, keys: &Path, count: usize) -> Outcome<f64> {
        let mut file = hosted(url, keys, 1e-3);
        for index in 0..count {
            let mut waiting = component(folder, &format!("waiting{index}"), "Faulty.fmu");
            waiting.set_start_value("fault", Value::String("sleep".to_owned()));
            waiting.set_start_value("function", Value::String("do_step".to_owned()));
            waiting.set_start_value("sleep_time", Value::Real(2e-3));
            file.components.push(waiting);
        }
        let mut maker = RemoteUnits::new(&file, InProcess);
        let system = System::from_file(file)?;
        let mut run = system.start_with(&RunOptions::default(), &mut maker)?;
        let mut times = Vec::new();
        for _ in 0..200 {
            let begin = Instant::now();
            run.step()?;
            times.push(begin.elapsed());
        }
        times.sort_unstable();
        Ok(1e3 * times[times.len() / 2].as_secs_f64())
    }

    /// Units whose steps are timed.
    struct Timed<M> {
        inner: M,
        times: Arc<Mutex<Vec<Duration>>>,
    }

    struct TimedUnit {
        unit: Box<dyn Unit>,
        begin: Instant,
        times: Arc<Mutex<Vec<Duration>>>,
    }

    impl<M: UnitMaker> UnitMaker for Timed<M> {
        fn make(&mut self, order: &UnitOrder<'_>) -> Result<Option<Box<dyn Unit>>, LoadError> {
            let unit = self.inner.make(order)?;
            let times = Arc::clone(&self.times);
            let begin = Instant::now();
            let timed = |unit| Box::new(TimedUnit { unit, begin, times }) as Box<dyn Unit>;
            Ok(unit.map(timed))
        }
    }

    impl UnitWrapper for TimedUnit {
        fn inner(&self) -> &dyn Unit {
            &*self.unit
        }

        fn inner_mut(&mut self) -> &mut dyn Unit {
            &mut *self.unit
        }

        fn begin_step(&mut self, time: f64, step: f64) -> UnitResult<Option<StepOutcome>> {
            self.begin = Instant::now();
            self.unit.begin_step(time, step)
        }

        fn finish_step(&mut self) -> UnitResult<StepOutcome> {
            let outcome = self.unit.finish_step();
            if let Ok(mut times) = self.times.lock() {
                times.push(self.begin.elapsed());
            }
            outcome
        }
    }
}
