//! Where the operator reads the studio's address with its one-time code: at a terminal, or from the command that
//! opens the studio, never in the log of a service.

use super::super::{Stopped, output};
use super::{Opened, Place};
use std::sync::Arc;
use tramline_mcp::server::Http;
use tramline_web::{FurtherAddress, StudioAccess};

/// What to do where `serve` prints no code.
const WITHOUT_CODE: &str = "start the server at a terminal to get an address with a one-time code, show the page a token \
                            (`approver` in --token-file answers as a person), or run `tramline studio`";

/// What gives out the studio's key over HTTP.
pub(super) fn studio_access(http: &Http, opened: Option<&mut Opened>) -> Arc<StudioAccess> {
    let further = match opened {
        Some(opened) => opened.further.take(),
        None => output::is_said_to_terminal().then(|| {
            let print = |address: &str| output::say(&format!("the studio is at {address}"));
            FurtherAddress::Printed(Box::new(print))
        }),
    };
    let further = further.unwrap_or(FurtherAddress::Unavailable(WITHOUT_CODE));
    let key = http.studio.clone().unwrap_or_default();
    Arc::new(StudioAccess::new(key, further))
}

/// Says where the studio is. A log gets no code.
pub(super) fn announce(
    access: &StudioAccess,
    url: &str,
    opened: Option<Opened>,
) -> Result<(), Stopped> {
    access.serve_at(url);
    let fresh = || {
        let address = access.fresh_address();
        let address = address
            .map_err(|error| Stopped::bad(format!("the studio's address has no code: {error}")))?;
        Ok::<_, Stopped>(address.unwrap_or_else(|| url.to_owned()))
    };
    match opened {
        Some(opened) => (opened.tell)(&Place {
            url: url.to_owned(),
            own: fresh()?,
        }),
        None if output::is_said_to_terminal() => {
            output::say(&format!("the studio is at {}", fresh()?));
        }
        None => {
            output::say(&format!("the studio is at {url}"));
            output::say(&format!(
                "this is no terminal, so no code for the studio is printed: {WITHOUT_CODE}"
            ));
        }
    }
    Ok(())
}
