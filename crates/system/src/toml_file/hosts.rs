//! `[hosts.NAME]`: the machines that host components.

use std::path::Path;

use toml::de::DeValue;

use super::section::{Reader, Section};
use crate::problem::Spanned;
use crate::system_file::RemoteHost;

/// Reads `[hosts.NAME]`.
pub(super) fn read(root: &mut Section<'_>, reader: &mut Reader) -> Vec<RemoteHost> {
    let Some(mut tables) = root.table("hosts", "[hosts]", reader) else {
        return Vec::new();
    };
    let mut hosts = Vec::new();
    for (name, value) in tables.rest() {
        match value.get_ref() {
            DeValue::Table(table) => {
                let title = format!("[hosts.{}]", name.value);
                let section = Section::new(title, table, value.span());
                hosts.extend(host(name, section, reader));
            }
            _ => reader.wrong_type(&name.value, "a table with `url`", value),
        }
    }
    hosts
}

fn host(
    name: Spanned<String>,
    mut section: Section<'_>,
    reader: &mut Reader,
) -> Option<RemoteHost> {
    let url = section.required_text("url", reader);
    let access = section.text("access", reader);
    let host = RemoteHost {
        name,
        url: Spanned::unplaced(String::new()),
        access: access.map(|path| reader.path(path)),
        keep_alive: section.number("keep_alive", reader),
        upload: section.boolean("upload", reader),
    };
    section.finish(reader);
    Some(RemoteHost { url: url?, ..host })
}

/// The entries of a host, as they stand in a system file.
pub(super) fn keys_of(host: &RemoteHost, folder: &Path) -> Vec<(&'static str, String)> {
    let mut keys = vec![("url", super::write::string(&host.url.value))];
    if let Some(access) = &host.access {
        keys.push(("access", super::write::path(&access.value, folder)));
    }
    if let Some(interval) = &host.keep_alive {
        keys.push(("keep_alive", super::write::real(interval.value)));
    }
    if let Some(upload) = &host.upload {
        keys.push(("upload", upload.value.to_string()));
    }
    keys
}
