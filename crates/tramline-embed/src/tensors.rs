//! Parses a safetensors file: a JSON header and numbers. Nothing in it is trusted.

use half::{bf16, f16};
use serde_json::{Map, Value};

/// Largest header, in bytes. Those of real models have a few hundred kilobytes at most.
const HEADER_BYTES_MAX: usize = 16 * 1_024 * 1_024;

/// The tensors of a file.
pub(crate) struct Tensors<'b> {
    header: Map<String, Value>,
    numbers: &'b [u8],
}

/// Numbers with their shape.
pub(crate) struct Tensor {
    pub(crate) shape: Vec<usize>,
    pub(crate) numbers: Vec<f32>,
}

impl Tensor {
    /// The number of rows and columns of a matrix.
    pub(crate) fn matrix_shape(&self, name: &str) -> Result<(usize, usize), String> {
        match self.shape.as_slice() {
            [rows, columns] if *rows > 0 && *columns > 0 => Ok((*rows, *columns)),
            other => Err(format!(
                "`{name}` has the shape {other:?} and should be a matrix"
            )),
        }
    }
}

impl<'b> Tensors<'b> {
    pub(crate) fn read(bytes: &'b [u8]) -> Result<Self, String> {
        let broken = || "not a safetensors file, or a damaged one".to_owned();
        let (length, rest) = bytes.split_first_chunk::<8>().ok_or_else(broken)?;
        let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| broken())?;
        if length > HEADER_BYTES_MAX || length > rest.len() {
            return Err(broken());
        }
        let (header, numbers) = rest.split_at(length);
        let header = serde_json::from_slice(header).map_err(|_| broken())?;
        Ok(Self { header, numbers })
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.header.contains_key(name)
    }

    /// A tensor's numbers, converted to `f32`.
    pub(crate) fn get(&self, name: &str) -> Result<Tensor, String> {
        let about = self
            .header
            .get(name)
            .ok_or_else(|| format!("no tensor `{name}`"))?;
        let damaged = || format!("the tensor `{name}` is damaged");
        let shape = usize_list(about.get("shape")).ok_or_else(damaged)?;
        let span = usize_list(about.get("data_offsets")).ok_or_else(damaged)?;
        let [from, to] = span.as_slice() else {
            return Err(damaged());
        };
        let bytes = self.numbers.get(*from..*to).ok_or_else(damaged)?;
        let kind = about
            .get("dtype")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let numbers = decode_numbers(kind, bytes).ok_or_else(|| {
            format!(
                "the tensor `{name}` has the type `{kind}`; F32, F16, BF16, F64, I64, I32 and I8 are supported"
            )
        })?;
        let count = shape
            .iter()
            .try_fold(1_usize, |all, side| all.checked_mul(*side));
        match count == Some(numbers.len()) {
            true => Ok(Tensor { shape, numbers }),
            false => Err(damaged()),
        }
    }

    /// A tensor of a known shape.
    #[cfg(feature = "minilm")]
    pub(crate) fn of_shape(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, String> {
        let tensor = self.get(name)?;
        match tensor.shape == shape {
            true => Ok(tensor.numbers),
            false => Err(format!(
                "`{name}` has the shape {:?} instead of {shape:?}",
                tensor.shape
            )),
        }
    }
}

fn usize_list(value: Option<&Value>) -> Option<Vec<usize>> {
    let numbers = value?.as_array()?.iter();
    numbers
        .map(|one| usize::try_from(one.as_u64()?).ok())
        .collect()
}

fn decode_numbers(kind: &str, bytes: &[u8]) -> Option<Vec<f32>> {
    fn each<const N: usize>(bytes: &[u8], read: impl Fn([u8; N]) -> f32) -> Option<Vec<f32>> {
        let (numbers, rest) = bytes.as_chunks::<N>();
        rest.is_empty()
            .then(|| numbers.iter().map(|bytes| read(*bytes)).collect())
    }
    match kind {
        "F32" => each(bytes, f32::from_le_bytes),
        "F16" => each(bytes, |bytes| f16::from_le_bytes(bytes).to_f32()),
        "BF16" => each(bytes, |bytes| bf16::from_le_bytes(bytes).to_f32()),
        "F64" => each(bytes, |bytes| f64::from_le_bytes(bytes) as f32),
        "I64" => each(bytes, |bytes| i64::from_le_bytes(bytes) as f32),
        "I32" => each(bytes, |bytes| i32::from_le_bytes(bytes) as f32),
        "I8" => each(bytes, |bytes| f32::from(i8::from_le_bytes(bytes))),
        _ => None,
    }
}
