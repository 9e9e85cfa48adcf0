//! Libraries of the C compiler, with variables of all sorts and without.

#![cfg(target_os = "linux")]

use std::path::Path;
use std::process::Command;

use super::{Variables, doubt};

/// An instance with a value, a constant and a table of functions.
const WITHOUT: &str = "
    #include <stdlib.h>
    #include <math.h>
    typedef double (*law)(double);
    static double spring(double x) { return -3.0 * x; }
    static double damper(double v) { return -0.5 * sin(v); }
    static const law LAWS[] = { spring, damper };
    static const char *const NAMES[] = { \"spring\", \"damper\" };
    const char *name(int i) { return NAMES[i]; }
    void *make(void) { return calloc(1, sizeof(double)); }
    double step(void *p, int i) { double *x = p; *x += LAWS[i](*x); return *x; }
    void release(void *p) { free(p); }
";

/// Ways to build a library.
const WAYS: &[&str] = &[
    "-O0",
    "-O2",
    "-Os",
    "-O2 -fcf-protection=none",
    "-O2 -Wl,-z,now",
    "-O2 -Wl,-z,norelro",
    "-O2 -mcmodel=large",
    "-O2 -fno-plt -fvisibility=hidden",
];

fn compile(source: &str, options: &str) -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("source.c");
    std::fs::write(&file, source).unwrap();
    let library = directory.path().join("library.so");
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let status = Command::new(compiler)
        .args(["-shared", "-fPIC", "-o"])
        .arg(&library)
        .arg(&file)
        .args(options.split(' '))
        .arg("-lm")
        .status()
        .unwrap();
    assert!(status.success(), "{options}: {source}");
    std::fs::read(library).unwrap()
}

#[test]
#[cfg(target_arch = "x86_64")]
fn a_library_without_variables_keeps_nothing() {
    for way in WAYS {
        for strip in ["", " -s"] {
            let options = format!("{way}{strip}");
            assert_eq!(doubt(&compile(WITHOUT, &options)), None, "{options}");
        }
    }
}

/// Each line makes a library keep something. Most variables are so small that they lie in the room
/// that the start files leave.
#[test]
fn c16_variables_are_found_however_small_and_however_reached() {
    let lines = [
        "static int count; int next(void) { return ++count; }",
        "static char flag; void set(void) { flag = 1; } int get(void) { return flag; }",
        "static char flag; void set(char c) { flag = c; }  char add(char c) { return flag += c; }",
        "static short pair[2]; short get(int i) { return pair[i - 1]; } void set(int i, short v) { pair[i] = v; }",
        "char shown __attribute__((visibility(\"default\")));",
        "int exported = 7; int get(void) { return exported; }",
        "static int (*laws[])(int) = { abs, abs }; int call(int i, int x) { return laws[i - 3](x); }
         void set(int i, int (*law)(int)) { laws[i - 3] = law; }",
        "static double last = 1.5; double next(double x) { return last *= x; }",
        "int get(void) { static int calls; return calls++; }",
        "static char c; char *where(void) { return &c; }",
        "static int (*f)(int) = abs; void set(int (*g)(int)) { f = g; } int call(int x) { return f(x); }",
        "int shown; int *at(void) { return &shown; }",
        "static __thread int count; int next(void) { return ++count; }",
        "static char c; char *const where = &c;",
        "static double table[1000]; double *at(int i) { return table + i; }",
        "#include <dlfcn.h>\nvoid *open_it(void) { return dlopen(\"libx.so\", RTLD_NOW); }",
        "#include <sys/mman.h>\nint change(void *p) { return mprotect(p, 4096, 7); }",
        "static int one(void) { return 1; } static void *pick(void) { return one; }\n\
         int chosen(void) __attribute__((ifunc(\"pick\"), visibility(\"default\")));",
    ];
    for line in lines {
        for options in ["-O2", "-O0 -s", "-O2 -s", "-O2 -s -mcmodel=large"] {
            let library = compile(&format!("{WITHOUT}\n{line}\n"), options);
            assert!(doubt(&library).is_some(), "{options}: {line}");
        }
    }
}

#[test]
#[cfg(target_arch = "x86_64")]
fn a_doubt_names_the_variable() {
    let counting = format!("{WITHOUT}\nstatic int count; int next(void) {{ return ++count; }}");
    assert_eq!(
        doubt(&compile(&counting, "-O1")).unwrap(),
        "the variable count"
    );
    let stripped = doubt(&compile(&counting, "-O1 -s")).unwrap();
    assert!(
        stripped.starts_with("code that may use a variable at 0x"),
        "{stripped}"
    );
}

#[test]
fn what_is_no_library_may_keep_something() {
    let library = compile(WITHOUT, "-O1");
    for end in (0..library.len()).step_by(61) {
        let _ = doubt(&library[..end]);
    }
    let mut torn = library.clone();
    for at in (0..torn.len()).step_by(7) {
        torn[at] ^= 0xff;
        let _ = doubt(&torn);
    }
    assert!(doubt(b"").is_some());
    assert!(doubt(b"MZ").is_some());
    let program = std::fs::read(Path::new("/proc/self/exe")).unwrap();
    assert!(doubt(&program).is_some());
}

/// A library with variables that can be exchanged.
const WITH: &str = "
    #include <stdio.h>
    #include <stdlib.h>
    #include <math.h>
    static int count;
    static double last = 1.5, *where = &last, (*law)(double) = sin;
    static char text[20];
    int next(void) { return ++count; }
    double step(double h) { *where += law(h); return last; }
    const char *name(void) { snprintf(text, sizeof text, \"%d\", count); return text; }
    void *make(void) { return calloc(1, 8); }
";

fn reason(line: &str, options: &str) -> Option<String> {
    Variables::read(&compile(&format!("{WITH}\n{line}\n"), options)).err()
}

#[test]
#[cfg(target_arch = "x86_64")]
fn few_variables_can_be_exchanged() {
    for (index, way) in WAYS.iter().enumerate() {
        let strip = [" -s", ""][index % 2];
        let options = format!("{way}{strip}");
        assert_eq!(reason("", &options), None, "{options}");
    }
}

/// Each line makes a library keep something that an exchange of its variables would lose or disturb.
#[test]
#[cfg(target_arch = "x86_64")]
fn c16_reasons_not_to_exchange_variables_are_found() {
    let lines = [
        (
            "static char many[100000]; char *at(int i) { return many + i; }",
            "bytes of variables",
        ),
        (
            "static __thread int mine; int more(void) { return ++mine; }",
            "thread-local",
        ),
        (
            "int atexit(void (*)(void)); void later(void (*f)(void)) { atexit(f); }",
            "it uses",
        ),
        (
            "#include <string.h>\nchar *part(char *s) { return strtok(s, \" \"); }",
            "it uses strtok",
        ),
        (
            "void buffer(void) { setvbuf(stdout, text, _IOLBF, sizeof text); }",
            "it uses setvbuf",
        ),
        (
            "#include <signal.h>\nvoid on(void (*f)(int)) { signal(SIGINT, f); }",
            "it uses signal",
        ),
        (
            "#include <pthread.h>\nint go(void *(*f)(void *)) { pthread_t t; return pthread_create(&t, 0, f, 0); }",
            "it uses pthread_create",
        ),
        (
            "#include <dlfcn.h>\nvoid *open_it(void) { return dlopen(\"libx.so\", RTLD_NOW); }",
            "it uses dlopen",
        ),
        (
            "__attribute__((destructor)) static void leave(void) { puts(text); }",
            "functions for its end",
        ),
        (
            "static int one(void) { return 1; } static void *pick(void) { return one; }\n\
          int chosen(void) __attribute__((ifunc(\"pick\"), visibility(\"default\")));",
            "chosen at run time",
        ),
        (
            "void call(void) { __asm__(\"syscall\"); }",
            "code that may call the system",
        ),
    ];
    for (line, expected) in lines {
        let reason = reason(line, "-O2 -s");
        let found = reason
            .as_deref()
            .is_some_and(|reason| reason.contains(expected));
        assert!(found, "{line}: {reason:?}");
    }
    let needs = reason("", "-Wl,--no-as-needed -l:libgcc_s.so.1").unwrap();
    assert!(needs.contains("it needs libgcc_s.so.1"), "{needs}");
}
