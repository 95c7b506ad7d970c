//! x
use crate::formats::Written;
use crate::workflow::Workflow;
use tramline_expr::Value;
/// x
pub fn write(_servers: &Value, _workflow: &Workflow) -> Written {
    Written {
        text: String::new(),
        lost: vec![],
    }
}
