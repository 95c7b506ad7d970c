//! The protobuf wire format: numbered fields, one after the other.

/// A message under construction.
#[derive(Default)]
pub(crate) struct ProtoMessage(Vec<u8>);

const VARINT: u64 = 0;
const FIXED64: u64 = 1;
const BYTES: u64 = 2;
const FIXED32: u64 = 5;

impl ProtoMessage {
    /// A message with this capacity in bytes.
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        Self(Vec::with_capacity(bytes))
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn tag(&mut self, field: u64, kind: u64) {
        self.varint(field << 3 | kind);
    }

    /// A number; 0 is omitted.
    pub(crate) fn number(&mut self, field: u64, value: u64) {
        if value != 0 {
            self.number_even_zero(field, value);
        }
    }

    /// A number whose presence matters, even if it is 0.
    pub(crate) fn number_even_zero(&mut self, field: u64, value: u64) {
        self.tag(field, VARINT);
        self.varint(value);
    }

    /// Eight bytes.
    pub(crate) fn fixed64(&mut self, field: u64, value: u64) {
        self.tag(field, FIXED64);
        self.0.extend(value.to_le_bytes());
    }

    /// Four bytes.
    pub(crate) fn fixed32(&mut self, field: u64, value: u32) {
        self.tag(field, FIXED32);
        self.0.extend(value.to_le_bytes());
    }

    /// A floating-point number.
    pub(crate) fn float(&mut self, field: u64, value: f64) {
        self.fixed64(field, value.to_bits());
    }

    pub(crate) fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.tag(field, BYTES);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    /// A text; an empty one is omitted.
    pub(crate) fn text(&mut self, field: u64, text: &str) {
        if !text.is_empty() {
            self.text_even_empty(field, text);
        }
    }

    /// A text whose presence matters, even if it is empty.
    pub(crate) fn text_even_empty(&mut self, field: u64, text: &str) {
        self.bytes(field, text.as_bytes());
    }

    /// A text made of two words.
    pub(crate) fn text_pair(&mut self, field: u64, [first, second]: [&str; 2]) {
        self.tag(field, BYTES);
        self.varint((first.len() + 1 + second.len()) as u64);
        self.0.extend_from_slice(first.as_bytes());
        self.0.push(b' ');
        self.0.extend_from_slice(second.as_bytes());
    }

    /// Already encoded fields, such as spans one after the other.
    pub(crate) fn raw_fields(&mut self, fields: &[u8]) {
        self.0.extend_from_slice(fields);
    }

    /// A nested message, written in place: most are so short that their length fits in one byte, and a longer one is
    /// moved to make room.
    pub(crate) fn message(&mut self, field: u64, write: impl FnOnce(&mut Self)) {
        self.tag(field, BYTES);
        let at = self.0.len();
        self.0.push(0);
        write(self);
        let length = self.0.len() - at - 1;
        if length < 0x80 {
            self.0[at] = length as u8;
            return;
        }
        let mut told = Self::default();
        told.varint(length as u64);
        self.0.splice(at..=at, told.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_written_as_protobuf_says() {
        let mut message = ProtoMessage::default();
        message.number(1, 300);
        message.number(2, 0);
        message.fixed64(3, 1);
        message.message(4, |inner| inner.text(1, "hé"));
        let expected = [
            0x08, 0xac, 0x02, 0x19, 1, 0, 0, 0, 0, 0, 0, 0, 0x22, 5, 0x0a, 3, b'h', 0xc3, 0xa9,
        ];
        assert_eq!(message.into_bytes(), expected);
    }

    #[test]
    fn a_long_message_within_another_tells_its_length() {
        let text = "x".repeat(300);
        let mut message = ProtoMessage::default();
        message.message(1, |inner| inner.text(2, &text));
        message.text_pair(3, ["a", "b"]);
        let bytes = message.into_bytes();
        assert_eq!(bytes[..6], [0x0a, 0xaf, 0x02, 0x12, 0xac, 0x02]);
        assert_eq!(bytes[306..], [0x1a, 3, b'a', b' ', b'b']);
    }
}
