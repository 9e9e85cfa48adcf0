//! What the rules need to know of a Rust file, found by walking its tokens.
//!
//! Tokens rather than a syntax tree: they reach into macros, and comments and strings cannot mislead.

use std::ops::RangeInclusive;

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

/// A function with a body.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Function {
    pub(super) name: String,
    /// From the line of `fn` to the line of the closing brace.
    pub(super) lines: RangeInclusive<usize>,
}

/// An `unsafe` keyword of a block, an impl, an extern block, a function or an attribute.
///
/// The type of a function pointer, `unsafe extern "C" fn(…)`, only repeats a signature and is not counted.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unsafe {
    pub(super) line: usize,
    /// Blocks and impls are where the author vouches, so they want a SAFETY comment.
    pub(super) vouches: bool,
}

/// The findings of one walk over a file.
#[derive(Debug, Default)]
pub(super) struct RustSource {
    /// Outside test modules.
    pub(super) functions: Vec<Function>,
    /// The lines of each `#[cfg(test)] mod … { }`.
    pub(super) test_modules: Vec<RangeInclusive<usize>>,
    pub(super) unsafes: Vec<Unsafe>,
    /// Modules declared by `mod name`, with their lines.
    pub(super) modules: Vec<(String, usize)>,
}

impl RustSource {
    /// Reads a file's text.
    ///
    /// # Errors
    ///
    /// The message of the lexer, if this is not Rust.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let tokens: TokenStream = text.parse().map_err(|error| format!("not Rust: {error}"))?;
        let mut source = Self::default();
        source.walk(tokens, false);
        Ok(source)
    }

    fn walk(&mut self, tokens: TokenStream, in_tests: bool) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut test_module_next = false;
        for (index, token) in tokens.iter().enumerate() {
            match token {
                TokenTree::Group(group) => {
                    let attribute = index > 0 && is_punct(&tokens[index - 1], '#');
                    test_module_next |= attribute && !in_tests && is_cfg_test(group);
                    let test_module = test_module_next && group.delimiter() == Delimiter::Brace;
                    if test_module {
                        test_module_next = false;
                        self.test_modules.push(lines(group));
                    }
                    self.walk(group.stream(), in_tests || test_module);
                }
                TokenTree::Ident(word) if word == "unsafe" => self.note_unsafe(&tokens, index),
                TokenTree::Ident(word) if word == "mod" => self.note_module(&tokens, index),
                TokenTree::Ident(word) if word == "fn" && !in_tests => {
                    self.note_function(&tokens, index);
                }
                // `#[cfg(test)] use …;` and `#[cfg(test)] mod tests;` end without braces.
                TokenTree::Punct(mark) if mark.as_char() == ';' => test_module_next = false,
                _ => {}
            }
        }
    }

    fn note_unsafe(&mut self, tokens: &[TokenTree], index: usize) {
        if is_pointer_type(&tokens[index + 1..]) {
            return;
        }
        let vouches = match tokens.get(index + 1) {
            Some(TokenTree::Group(next)) => next.delimiter() == Delimiter::Brace,
            Some(TokenTree::Ident(next)) => next == "impl",
            _ => false,
        };
        self.unsafes.push(Unsafe {
            line: tokens[index].span().start().line,
            vouches,
        });
    }

    fn note_module(&mut self, tokens: &[TokenTree], index: usize) {
        if let Some(TokenTree::Ident(name)) = tokens.get(index + 1) {
            self.modules
                .push((name.to_string(), name.span().start().line));
        }
    }

    /// Notes a function whose body follows; `fn(…)` types and declarations ending in `;` have none.
    fn note_function(&mut self, tokens: &[TokenTree], index: usize) {
        let Some(TokenTree::Ident(name)) = tokens.get(index + 1) else {
            return;
        };
        let body = tokens[index..].iter().find_map(|token| match token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => Some(Some(group)),
            TokenTree::Punct(mark) if mark.as_char() == ';' => Some(None),
            _ => None,
        });
        if let Some(Some(body)) = body {
            let first = tokens[index].span().start().line;
            let lines = first..=body.span_close().end().line;
            self.functions.push(Function {
                name: name.to_string(),
                lines,
            });
        }
    }
}

/// True if `tokens`, which follow `unsafe`, are `fn(…)` or `extern "C" fn(…)`.
fn is_pointer_type(tokens: &[TokenTree]) -> bool {
    let mut rest = tokens.iter().skip_while(|token| match token {
        TokenTree::Ident(word) => word == "extern",
        TokenTree::Literal(_) => true,
        _ => false,
    });
    let is_fn = matches!(rest.next(), Some(TokenTree::Ident(word)) if word == "fn");
    is_fn && matches!(rest.next(), Some(TokenTree::Group(_)))
}

fn lines(group: &Group) -> RangeInclusive<usize> {
    group.span_open().start().line..=group.span_close().end().line
}

fn is_punct(token: &TokenTree, mark: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == mark)
}

fn is_cfg_test(attribute: &Group) -> bool {
    attribute.stream().to_string().replace(' ', "") == "cfg(test)"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_measured_from_fn_to_the_closing_brace() {
        let source = RustSource::parse(
            "trait A {\n    fn declared(&self);\n}\nfn one(f: fn(i32) -> i32) {\n    f(1);\n}\n",
        )
        .unwrap();
        assert_eq!(
            source.functions,
            [Function {
                name: "one".into(),
                lines: 4..=6
            }]
        );
    }

    #[test]
    fn test_modules_are_counted_apart() {
        let source = RustSource::parse(
            "fn a() {}\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn b() {}\n}\nfn c() {}\n",
        )
        .unwrap();
        let names: Vec<_> = source.functions.iter().map(|f| f.name.as_str()).collect();
        assert_eq!(names, ["a", "c"]);
        assert_eq!(source.test_modules, [3..=6]);
    }

    #[test]
    fn a_test_module_in_its_own_file_does_not_hide_what_follows() {
        let source = RustSource::parse("#[cfg(test)]\nmod tests;\nfn a() { }\n").unwrap();
        assert_eq!(source.functions.len(), 1);
        assert!(source.test_modules.is_empty());
    }

    #[test]
    fn unsafe_is_found_in_macros_and_not_in_comments_or_strings() {
        let source = RustSource::parse(
            "// unsafe\nmacro_rules! m { () => {\n    unsafe { f() }\n} }\n\
             const S: &str = \"unsafe\";\n#[unsafe(no_mangle)]\nunsafe impl Send for A {}\n",
        )
        .unwrap();
        assert_eq!(
            source.unsafes,
            [
                Unsafe {
                    line: 3,
                    vouches: true
                },
                Unsafe {
                    line: 6,
                    vouches: false
                },
                Unsafe {
                    line: 7,
                    vouches: true
                },
            ]
        );
    }

    #[test]
    fn a_function_pointer_type_is_not_counted() {
        let source = RustSource::parse(
            "type F = unsafe extern \"C\" fn(*mut u8) -> i32;\nunsafe extern \"C\" fn f() {}\n",
        )
        .unwrap();
        assert_eq!(
            source.unsafes,
            [Unsafe {
                line: 2,
                vouches: false
            }]
        );
    }

    #[test]
    fn text_that_is_not_rust_is_an_error() {
        assert!(RustSource::parse("fn a( {").is_err());
    }
}
