//! Where things are and what may be touched: flags, environment, defaults.

use std::path::{Path, PathBuf};
use tramline_builtin::HostPattern;
use tramline_core::Value;

/// Larger configuration files are refused.
const CONFIG_BYTES_MAX: u64 = 4 << 20;

/// What a process may use.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// Where runs are kept; nothing means in memory only.
    pub data_dir: Option<PathBuf>,
    /// The directories in which files may be touched.
    pub roots: Vec<PathBuf>,
    /// The hosts that `http` may call.
    pub hosts: Vec<HostPattern>,
    /// The clients' usual JSON with more servers.
    pub mcp_config: Option<PathBuf>,
}

/// The data directory when nobody names one.
pub fn default_data_dir() -> PathBuf {
    let under = |name: &str, rest: &str| {
        std::env::var_os(name)
            .filter(|value| Path::new(value).is_absolute())
            .map(|value| PathBuf::from(value).join(rest))
    };
    under("XDG_DATA_HOME", "tramline")
        .or_else(|| under("HOME", ".local/share/tramline"))
        .unwrap_or_else(|| PathBuf::from(".tramline"))
}

/// Reads a file that must not be larger than a document can sensibly be.
pub fn read_bounded(path: &Path, bytes_max: u64) -> Result<Vec<u8>, String> {
    use std::io::Read as _;
    let cannot = |error: std::io::Error| format!("{} cannot be read: {error}", path.display());
    let file = std::fs::File::open(path).map_err(cannot)?;
    let about = file.metadata().map_err(cannot)?;
    if about.is_dir() {
        return Err(format!("{} is a directory; name a file", path.display()));
    }
    // Room for all of it and its end: one read, where growing from nothing takes many.
    let expected = about.len().min(bytes_max) as usize;
    let mut bytes = Vec::with_capacity(expected + 1);
    file.take(bytes_max + 1)
        .read_to_end(&mut bytes)
        .map_err(cannot)?;
    if bytes.len() as u64 > bytes_max {
        return Err(format!(
            "{} holds more than {bytes_max} bytes",
            path.display()
        ));
    }
    Ok(bytes)
}

/// Reads the clients' usual JSON.
pub fn read_mcp_config(path: &Path) -> Result<Value, String> {
    let bytes = read_bounded(path, CONFIG_BYTES_MAX)?;
    let text = String::from_utf8(bytes).map_err(|_| format!("{} is not text", path.display()))?;
    Value::from_json(&text).map_err(|error| {
        format!(
            "{}:{}:{}: {error}",
            path.display(),
            error.line(),
            error.column()
        )
    })
}
