//! Annotations: step sizes as other tools write them, and everything of a system that SSP has no
//! words for, as gyrator writes it.
//!
//! A part of a system that SSP cannot express is written into one annotation, as the text of a system file and not as XML
//! of our own. So both formats share one reader, one writer and one reference, and a new key needs no further work. Other
//! tools ignore annotations in either form. The text is in a CDATA section, so that the place of a mistake is a
//! place in the `.ssd`.

use std::ops::Range;

use gyrator_system::Spanned;

use crate::tree::{Element, Reader};

/// The type of gyrator's annotations; their element is `System` in [`NAMESPACE`], and its text is
/// a TOML system file. SSP asks for a domain, and gyrator has none.
pub(crate) const TYPE: &str = "gyrator";
/// The type that gyrator wrote first; it is read for good.
const FIRST_TYPE: &str = "example.gyrator";
/// The namespace of gyrator's annotations.
pub(crate) const NAMESPACE: &str = "urn:gyrator:ssp";
/// The type of the annotations of libcosim (`OSPAnnotations.xsd` in its repository).
pub(crate) const OSP_TYPE: &str = "com.opensimulationplatform";
/// The namespace of the annotations of libcosim.
pub(crate) const OSP_NAMESPACE: &str = "http://opensimulationplatform.com/SSP/OSPAnnotations";
/// The type of the annotations of OMSimulator (`oms.xsd` in its repository).
const OMS_TYPE: &str = "org.openmodelica";

/// The contents of annotations.
#[derive(Debug, Default)]
pub(crate) struct Annotations {
    /// Macro-step, s.
    pub(crate) macro_step: Option<Spanned<f64>>,
    /// Communication step of a component, s.
    pub(crate) step_size: Option<Spanned<f64>>,
    /// Places of texts in TOML.
    pub(crate) supplements: Vec<Range<usize>>,
}

/// The annotations of an element.
pub(crate) fn read(parent: Element<'_>, reader: &mut Reader<'_>) -> Annotations {
    let mut found = Annotations::default();
    for annotation in parent.listed("Annotations", "Annotation") {
        let Some(kind) = annotation.required("type", reader) else {
            continue;
        };
        match &*kind.value {
            TYPE | FIRST_TYPE => {
                for system in annotation.named("System") {
                    found.supplements.push(text_of(system));
                }
            }
            OSP_TYPE => of_libcosim(annotation, &mut found, reader),
            OMS_TYPE => of_omsimulator(annotation, &mut found, reader),
            other => {
                reader.unsupported(&format!("annotations of the type {other}"), &kind.span);
            }
        }
    }
    found
}

/// The annotations of these types, for an element with no other known annotations.
pub(crate) fn of_types<'t>(
    parent: Element<'t>,
    types: &[&str],
    reader: &mut Reader<'_>,
) -> Vec<Element<'t>> {
    let mut found = Vec::new();
    for annotation in parent.listed("Annotations", "Annotation") {
        let Some(kind) = annotation.required("type", reader) else {
            continue;
        };
        match &*kind.value {
            known if types.contains(&known) => found.push(annotation),
            TYPE | OSP_TYPE | OMS_TYPE => {}
            other => reader.unsupported(&format!("annotations of the type {other}"), &kind.span),
        }
    }
    found
}

/// The place of the text of an element, without the marks of a CDATA section around it.
fn text_of(element: Element<'_>) -> Range<usize> {
    let (text, span) = element.content();
    let inner = text.trim().strip_prefix("<![CDATA[");
    match inner.and_then(|inner| inner.strip_suffix("]]>")) {
        Some(inner) => {
            let start = span.start + (inner.as_ptr().addr() - text.as_ptr().addr());
            start..start + inner.len()
        }
        None => span,
    }
}

fn of_libcosim(annotation: Element<'_>, found: &mut Annotations, reader: &mut Reader<'_>) {
    for element in annotation.children() {
        match element.name() {
            "StepSizeHint" => {
                let hint = element.number("value", reader);
                found.step_size = hint
                    .filter(|step| step.value > 0.0)
                    .or(found.step_size.take());
            }
            "Algorithm" => {
                for algorithm in element.children() {
                    if algorithm.name() == "FixedStepAlgorithm" {
                        found.macro_step = algorithm.number("baseStepSize", reader);
                    } else {
                        let message = format!("the algorithm `{}`", algorithm.name());
                        reader.unsupported(&message, &algorithm.span());
                    }
                }
            }
            other => reader.unsupported(&format!("the annotation `{other}`"), &element.span()),
        }
    }
}

/// `Annotations/SimulationInformation` has the step of the master algorithm, as `stepSize` of a
/// `FixedStepMaster` (OMSimulator 2) or as `fixedStepSize` (3); the rest is about result files or
/// model exchange.
fn of_omsimulator(annotation: Element<'_>, found: &mut Annotations, reader: &mut Reader<'_>) {
    for information in annotation.listed("Annotations", "SimulationInformation") {
        let master = information.child("FixedStepMaster");
        let step = master.and_then(|master| master.number("stepSize", reader));
        let step = step.or_else(|| information.number("fixedStepSize", reader));
        found.macro_step = found.macro_step.take().or(step);
    }
}
