//! The secret in the address of a page.

use std::fmt;

/// 128 random bits, which the address of the page has and no other page can guess.
#[derive(Clone, Copy)]
pub(crate) struct Token(u128);

impl Token {
    /// A new one, from the randomness of the operating system.
    ///
    /// # Errors
    /// The system has none.
    pub(crate) fn random() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes)?;
        Ok(Self(u128::from_le_bytes(bytes)))
    }

    /// Whether `text` is this token. Compares two numbers, not letter by letter: the time says nothing of how much is right.
    pub(crate) fn is(self, text: &str) -> bool {
        let is_form = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_form && u128::from_str_radix(text, 16) == Ok(self.0)
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// Its digits are not for messages.
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_token_itself_is_right() {
        let token = Token(0x0123_4567_89ab_cdef_0011_2233_4455_6677);
        let text = token.to_string();
        assert_eq!(text, "0123456789abcdef0011223344556677");
        assert!(token.is(&text));
        let swapped = text.replace('7', "8");
        for wrong in ["", "+", &text[1..], &format!("{text}0"), &swapped] {
            assert!(!token.is(wrong), "{wrong}");
        }
        let signed = format!("+{}", &text[1..]);
        assert!(!token.is(&signed), "a sign is no digit");
        let other = Token::random().unwrap();
        assert!(!other.is(&Token::random().unwrap().to_string()));
    }
}
