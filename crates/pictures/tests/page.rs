//! The whole page: its size, its figures, and that nothing of a run is more than text in it.

use gyrator_pictures::report::{Drawing, Page, update};
use gyrator_record::{Column, ColumnType, Decimator};
use gyrator_system::figure;
use serde_json::{Value, json};

const HOSTILE: &str =
    "</script><script>alert(1)</script><img src=x onerror=\"alert('2')\">{{data}}\u{202e}";

/// Numbers that compress to nothing shorter: a linear congruential generator (Knuth's MMIX).
fn noise(seed: u64, length: usize) -> Vec<f64> {
    let mut state = seed;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        state as f64 / 1e17
    };
    (0..length).map(|_| next()).collect()
}

fn drawing(names: &[String], rows: usize) -> Drawing {
    let mut decimator = Decimator::new(names.len(), Drawing::stretches(names.len()));
    let times: Vec<f64> = noise(1, rows)
        .iter()
        .scan(0.0, |time, step| {
            *time += 1e-3 * step;
            Some(*time)
        })
        .collect();
    let values: Vec<Vec<f64>> = (0..names.len()).map(|k| noise(k as u64, rows)).collect();
    decimator.push(
        &times,
        &values.iter().map(Vec::as_slice).collect::<Vec<_>>(),
    );
    let columns: Vec<Column> = names
        .iter()
        .map(|name| Column::new(name, ColumnType::Real))
        .collect();
    Drawing::from(&decimator.decimated(&columns))
}

/// Bonds, connections and error bars with figures of all digits.
fn summary(name: &str) -> Value {
    let numbers = noise(7, 200);
    let bond = |k: usize| {
        json!({
            "name": format!("{name} {k}"),
            "verdict": "visible",
            "transferred_energy": numbers[4 * k],
            "residual_energy": numbers[4 * k + 1],
            "residual_energy_abs": numbers[4 * k + 2],
            "max_residual_power": numbers[4 * k + 3],
            "stale_energy": null,
            "correction_energy": -1e-300,
            "correction": "residual-power",
            "correction_parameters": { "mu": 0.5 },
            "correction_verdict": "harmed",
            "alarms": [{ "start": 0.1, "end": 0.30000000000000004, "max_residual_power": 5e-324, "max_time": 0.2 }],
        })
    };
    let bar = |k: usize| {
        json!({
            "variable": format!("{name}.{k}"), "error": numbers[40 + k], "max_error": numbers[60 + k], "order": 1.25,
            "step_for": 1e-5, "verdict": "small", "reason": null,
        })
    };
    json!({
        "gyrator": "0.1.0", "system": format!("{name}/{name}.toml"), "stop_reason": "failed", "stop_detail": name,
        "verdict": "visible", "coupling_error_estimate": 0.1 + 0.2, "advice": name, "start_time": 0.0,
        "stop_time": 1.0, "steps": 1000, "step_size": 1e-3, "method": "jacobi", "step_control": "fixed",
        "components": [{ "name": name, "step_size": 1e-3, "exchange": "stale",
            "feedthrough_in_steps": [{ "input": name, "output": name }] }],
        "components_in_call": [name],
        "bonds": (0..10).map(bond).collect::<Vec<_>>(),
        "connections": [{ "from": name, "to": name, "defect_rms": 1.5, "defect_max": 2.5, "range": 3.5,
            "relative_defect": 0.125 }],
        "actions": [{ "time": 0.5, "variable": name, "action": "set", "event": "begin" }],
        "error_bars": (0..20).map(bar).collect::<Vec<_>>(),
        "checks": [{ "name": name, "subject": name, "outcome": "failed", "message": name }],
        "notes": [name], "parameters": { name: name }, "counters": { "macro_steps": 1000 },
        "plan": { "method": "jacobi", "is_final": true, "operations": [
            { "operation": "repeat", "text": name }, { "operation": "step", "components": [name], "text": name, "depth": 1 },
        ] },
        "component_times": [
            { "component": name, "operation": "initialize", "calls": 4, "seconds": 0.5 },
            { "component": name, "operation": "set", "calls": 1000, "seconds": 0.015625 },
            { "component": name, "operation": "step", "calls": 1000, "seconds": 0.0625 },
            { "component": name, "operation": "state", "calls": 10, "seconds": 0.03125 },
            { "component": format!("{name}2"), "operation": "step", "calls": 500, "seconds": 0.125 },
        ],
        "wall_clock": { "loading": 0.1, "initialising": 0.2, "stepping": 0.3 },
        "output": { "file": name, "rows": 2000 },
        "provenance": { "arguments": ["run", name], "files": { name: name } },
    })
}

fn page(summary: &Value, drawing: &Drawing) -> String {
    Page {
        summary,
        drawing,
        graph: None,
        remarks: &[],
        live: None,
    }
    .html()
}

/// The limit that docs/report.md names, for rows as they are and for extremes of many rows at uneven times.
#[test]
fn a_page_of_twenty_signals_of_2000_points_has_at_most_300_kb() {
    let names: Vec<String> = (0..20).map(|k| format!("component.signal_{k}")).collect();
    for rows in [2000, 100_000] {
        let drawing = drawing(&names, rows);
        let page = page(&summary("name"), &drawing);
        assert!(page.len() <= 300_000, "{rows} rows: {} bytes", page.len());
        assert!(page.len() > 200_000, "{rows} rows: {} bytes", page.len());
    }
}

/// The data stay as large with any number of columns.
#[test]
fn more_signals_have_fewer_points() {
    let names: Vec<String> = (0..80).map(|k| format!("c.s{k}")).collect();
    let page = page(&Value::Null, &drawing(&names, 5000));
    assert!(page.len() <= 330_000, "{} bytes", page.len());
}

#[test]
fn hostile_names_are_text_everywhere() {
    let drawing = drawing(&[HOSTILE.to_owned(), format!("error.{HOSTILE}")], 100);
    let summary = summary(HOSTILE);
    let remarks = [HOSTILE.to_owned()];
    let page = Page {
        summary: &summary,
        drawing: &drawing,
        graph: Some(HOSTILE),
        remarks: &remarks,
        live: Some("1"),
    };
    let html = page.html();
    let plain = Page {
        summary: &Value::Null,
        drawing: &Drawing::default(),
        graph: None,
        remarks: &[],
        live: Some("1"),
    };
    // As many elements that run or load something as without any name.
    for element in ["<script", "</script", "<style", "<meta", "<link", "<iframe"] {
        assert_eq!(
            html.matches(element).count(),
            plain.html().matches(element).count(),
            "{element}"
        );
    }
    assert_eq!(html.matches("<img").count(), 1, "the graph alone");
    assert!(!html.contains('\u{202e}') && !html.contains("alert(1)</script>"));
    // Names stand in text that has been looked at once.
    assert!(html.contains("{{data}}"));
    let drawing: Value =
        serde_json::from_str(between(&html, "id=\"drawing\">", "</script>")).unwrap();
    let name = HOSTILE.replace('\u{202e}', "\u{fffd}");
    assert_eq!(drawing["plots"][0]["series"][0]["name"], name);
    for (id, section) in update(&summary, &Drawing::default())["sections"]
        .as_object()
        .unwrap()
    {
        let section = section.as_str().unwrap();
        assert!(
            !section.contains("<script") && !section.contains("<img"),
            "{id}"
        );
    }
}

fn between<'a>(text: &'a str, begin: &str, end: &str) -> &'a str {
    let (_, rest) = text.split_once(begin).expect(begin);
    rest.split_once(end).expect(end).0
}

/// Every number of the summary's tables with four digits, and as the summary writes it in its title.
#[test]
fn figures_have_all_digits_of_the_summary() {
    let summary = summary("bond");
    let html = page(&summary, &Drawing::default());
    let stands = |value: &Value| {
        let number = value.as_f64().unwrap();
        let whole = format!("<td class=figure>{}\n", figure(number));
        let rounded = format!("<td class=figure title={value}>{}", figure(number));
        let is_there = html.contains(&rounded)
            || figure(number).parse() == Ok(number)
                && (html.contains(&whole) || html.contains(&whole.replace('\n', "<")))
            || value.is_u64() && html.contains(&format!("<td class=figure>{value}<"));
        assert!(is_there, "{value}");
    };
    for bond in summary["bonds"].as_array().unwrap() {
        for key in [
            "transferred_energy",
            "residual_energy",
            "residual_energy_abs",
            "max_residual_power",
            "correction_energy",
        ] {
            stands(&bond[key]);
        }
    }
    for bar in summary["error_bars"].as_array().unwrap() {
        for key in ["error", "max_error", "order", "step_for"] {
            stands(&bar[key]);
        }
    }
    stands(&json!(0.30000000000000004));
    stands(&json!(5e-324));
    // The error bars are nearer to the truth than the estimate.
    assert!(html.contains("By the error bars below"));
    assert!(!html.contains("within a factor 3"));
    for call in summary["component_times"].as_array().unwrap() {
        stands(&call["calls"]);
        stands(&call["seconds"]);
    }
}

/// The slowest component first; loading and initializing are not in its share of stepping, which took 0.3 s.
#[test]
fn times_of_fmus_are_shares_of_stepping() {
    let html = page(&summary("name"), &Drawing::default());
    let time = between(&html, "id=\"time\">", "</section>");
    let rows: Vec<Vec<&str>> = between(time, "load and initialize, s<tbody>", "</table>")
        .trim()
        .lines()
        .map(|row| {
            let cells = row.split("<td").skip(1);
            cells.map(|cell| cell.split_once('>').unwrap().1).collect()
        })
        .collect();
    let figures = |row: &[&str]| -> Vec<String> {
        let texts = [1, 2, 4, 5, 6, 7, 8, 9].map(|k| row.get(k).unwrap_or(&"").to_string());
        texts.into_iter().filter(|text| !text.is_empty()).collect()
    };
    assert!(rows[0][0].contains("name2") && !rows[1][0].contains("name2"));
    let slow = [
        "0.125000", "41.7", "0.125000", "0.000000", "0.000000", "0.000000", "0.000000", "0.000000",
    ];
    assert_eq!(figures(&rows[0]), slow);
    let fast = [
        "0.109375", "36.5", "0.062500", "0.015625", "0.000000", "0.000000", "0.031250", "0.500000",
    ];
    assert_eq!(figures(&rows[1]), fast);
    assert!(
        rows[1][3].contains("<rect width=\"36.5\""),
        "{}",
        rows[1][3]
    );
    assert_eq!(rows[2][0], "outside of FMUs, at least");
    assert_eq!(figures(&rows[2]), ["0.065625", "21.9"]);
    let unknown = page(&json!({ "component_times": null }), &Drawing::default());
    assert!(!unknown.contains("outside of FMUs"));
}

/// No host is asked for anything: the policy allows the style and the script of the page only, by their hashes.
#[test]
fn the_policy_allows_nothing_from_elsewhere() {
    let html = page(&summary("name"), &Drawing::default());
    let policy = between(&html, "Content-Security-Policy\" content=\"", "\"");
    let mut parts = policy.split("; ");
    assert_eq!(parts.next(), Some("default-src 'none'"));
    for part in parts {
        let is_allowed = part.starts_with("script-src 'sha256-")
            || part.starts_with("style-src 'sha256-")
            || ["img-src data:", "base-uri 'none'", "form-action 'none'"].contains(&part);
        assert!(is_allowed, "{part}");
    }
    assert!(!policy.contains("unsafe") && !policy.contains("http"));
    let live = Page {
        summary: &Value::Null,
        drawing: &Drawing::default(),
        graph: None,
        remarks: &[],
        live: Some("x()"),
    };
    let live = live.html();
    assert!(between(&live, "Policy\" content=\"", "\"").ends_with("connect-src 'self'"));
    assert!(live.contains("<script>x()</script>"));
}

/// A failed run has its fault first, with the place and the words of the fault.
#[test]
fn the_fault_stands_before_all_else() {
    let html = page(&summary("name"), &Drawing::default());
    let place = |text: &str| html.find(text).unwrap_or_else(|| panic!("{text}"));
    assert!(place("id=\"fault\"") < place("id=\"verdict\""));
    assert!(
        place("id=\"verdict\"") < place("id=\"error-bars\"")
            && place("id=\"error-bars\"") < place("id=\"run\"")
    );
    let fault = between(&html, "id=\"fault\">", "</section>");
    assert!(
        fault.contains("failed") && fault.contains("at t = 1.0 s"),
        "{fault}"
    );
    let well = page(
        &json!({ "stop_reason": "stop-time", "verdict": "small" }),
        &Drawing::default(),
    );
    assert!(well.contains("<section id=\"fault\" hidden>"));
}
