//! Where the operator gets the studio's address with its one-time code: at a terminal, or from the
//! command that opens the studio, never in the log of a service.

use super::super::{CliError, output};
use super::{StudioAddress, StudioLaunch};
use std::sync::Arc;
use tramline_mcp_server::HttpOptions;
use tramline_web::{FurtherAddress, StudioAccess};

/// The next step where `serve` prints no code.
const WITHOUT_CODE: &str = "start the server at a terminal to get an address with a one-time code, show the page a token \
                            (`approver` in --token-file answers as a person), or run `tramline studio`";

/// Issues the studio's key over HTTP.
pub(super) fn studio_access(
    http: &HttpOptions,
    opened: Option<&mut StudioLaunch>,
) -> Arc<StudioAccess> {
    let further = match opened {
        Some(opened) => opened.more_addresses.take(),
        None => output::is_status_terminal().then(|| {
            let print = |address: &str| output::status_line(&format!("the studio is at {address}"));
            FurtherAddress::Printed(Box::new(print))
        }),
    };
    let further = further.unwrap_or(FurtherAddress::Unavailable(WITHOUT_CODE));
    let key = http.studio_key.clone().unwrap_or_default();
    Arc::new(StudioAccess::new(key, further))
}

/// Prints the studio's address. A log gets no code.
pub(super) fn announce(
    access: &StudioAccess,
    url: &str,
    opened: Option<StudioLaunch>,
) -> Result<(), CliError> {
    access.serve_at(url);
    let fresh = || {
        let address = access.fresh_address();
        let address = address.map_err(|error| {
            CliError::bad_input(format!("cannot create a code for the studio: {error}"))
        })?;
        Ok::<_, CliError>(address.unwrap_or_else(|| url.to_owned()))
    };
    match opened {
        Some(opened) => (opened.print_address)(&StudioAddress {
            url: url.to_owned(),
            operator_url: fresh()?,
        }),
        None if output::is_status_terminal() => {
            output::status_line(&format!("the studio is at {}", fresh()?));
        }
        None => {
            output::status_line(&format!("the studio is at {url}"));
            output::status_line(&format!(
                "this is not a terminal, so no code for the studio is printed: {WITHOUT_CODE}"
            ));
        }
    }
    Ok(())
}
