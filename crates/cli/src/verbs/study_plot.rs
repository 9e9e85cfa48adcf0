//! `gyrator study plot`: the table of a study as a picture.

use std::path::PathBuf;

use clap::Args;
use gyrator_pictures::plot::{StudyPicture, StudyPlotError, StudyRows, StudyView};

use crate::exit::Exit;
use crate::failure::{Failure, Message};
use crate::input_kind::{self, Kind, Wanted};
use crate::options::assignment;
use crate::overwriting;
use crate::picture::PictureOptions;
use crate::table_options::not_read;

#[derive(Debug, Args)]
pub(super) struct Options {
    /// The table of the study: CSV, Parquet or Arrow IPC
    #[arg(value_name = "TABLE")]
    table: PathBuf,
    /// Draw these metrics; * and ? stand for any text and any character [default: the first ones]
    #[arg(value_name = "METRIC")]
    metrics: Vec<String>,
    #[command(flatten)]
    picture: PictureOptions,
    /// Draw over this parameter; given twice, the second one is the vertical axis of a coloured field [default: the
    /// first one or two that vary]
    #[arg(long, value_name = "KEY")]
    over: Vec<String>,
    /// Draw only the rows in which this parameter, or `variant`, has this value [repeatable]
    #[arg(long, value_name = "KEY=VALUE", value_parser = assignment)]
    only: Vec<(String, String)>,
}

/// Draws the table.
pub(super) fn run(options: &Options) -> Result<Exit, Failure> {
    overwriting::refuse(&options.picture.outputs(), &[("the table", &options.table)])?;
    let kind = input_kind::expect(&options.table, Wanted::StudyTable)?;
    let rows = StudyRows::read(&options.table);
    let rows = rows.map_err(|error| not_read(&error, &options.table))?;
    let name = options.table.file_name().unwrap_or_default();
    let view = StudyView {
        metrics: options.metrics.clone(),
        over: options.over.clone(),
        conditions: options.only.clone(),
    };
    let picture = rows.picture(&name.to_string_lossy(), &view);
    let picture = picture.map_err(|error| {
        let table = options.table.display();
        let text = format!("{table}: {error}");
        let failure = Failure::new(Exit::InvalidInput, Message::error(text));
        match (error, kind) {
            (StudyPlotError::NoStudy, Some(Kind::Table)) => {
                failure.help(format!("`gyrator plot {table}` takes the result of a run"))
            }
            _ => failure,
        }
    })?;
    match picture {
        StudyPicture::Curves(figure) => options.picture.show(&figure),
        StudyPicture::Field(field) => {
            let show = |columns| format!("{}\n{}", field.title, field.to_text(columns));
            options.picture.show_as(|| field.to_svg(), show)
        }
    }
}
