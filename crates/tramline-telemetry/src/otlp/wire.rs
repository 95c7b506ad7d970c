//! Protobuf on the wire: numbered fields, one after the other.

/// A message under construction.
#[derive(Default)]
pub(super) struct Message(Vec<u8>);

const VARINT: u64 = 0;
const FIXED64: u64 = 1;
const BYTES: u64 = 2;
const FIXED32: u64 = 5;

impl Message {
    pub(super) fn into_bytes(self) -> Vec<u8> {
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

    /// A number; what is 0 need not be said.
    pub(super) fn number(&mut self, field: u64, value: u64) {
        if value != 0 {
            self.number_even_zero(field, value);
        }
    }

    /// A number that counts by being there.
    pub(super) fn number_even_zero(&mut self, field: u64, value: u64) {
        self.tag(field, VARINT);
        self.varint(value);
    }

    /// Eight bytes.
    pub(super) fn fixed(&mut self, field: u64, value: u64) {
        self.tag(field, FIXED64);
        self.0.extend(value.to_le_bytes());
    }

    /// Four bytes.
    pub(super) fn fixed32(&mut self, field: u64, value: u32) {
        self.tag(field, FIXED32);
        self.0.extend(value.to_le_bytes());
    }

    /// A floating number.
    pub(super) fn float(&mut self, field: u64, value: f64) {
        self.fixed(field, value.to_bits());
    }

    pub(super) fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.tag(field, BYTES);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    /// A text; an empty one need not be said.
    pub(super) fn text(&mut self, field: u64, text: &str) {
        if !text.is_empty() {
            self.text_even_empty(field, text);
        }
    }

    /// A text that counts by being there.
    pub(super) fn text_even_empty(&mut self, field: u64, text: &str) {
        self.bytes(field, text.as_bytes());
    }

    pub(super) fn message(&mut self, field: u64, message: &Self) {
        self.bytes(field, &message.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_written_as_protobuf_says() {
        let mut inner = Message::default();
        inner.text(1, "hé");
        let mut message = Message::default();
        message.number(1, 300);
        message.number(2, 0);
        message.fixed(3, 1);
        message.message(4, &inner);
        let expected = [
            0x08, 0xac, 0x02, 0x19, 1, 0, 0, 0, 0, 0, 0, 0, 0x22, 5, 0x0a, 3, b'h', 0xc3, 0xa9,
        ];
        assert_eq!(message.into_bytes(), expected);
    }
}
