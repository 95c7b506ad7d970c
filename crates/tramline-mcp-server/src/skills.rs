//! Skills, the extension `io.modelcontextprotocol/skills`: each workflow and procedure that is served, as a page.
//!
//! They are made from what is served when they are read, so an edit of a document shows at once.

use crate::SharedState;
use crate::resources::{self, Cursor};
use rmcp::ErrorData;
use rmcp::model::{CustomRequest, CustomResult, ErrorCode, Resource, ResourceContents};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Value as Json, json};
use tramline_views::skill::{SKILL_FILE, Skill, distinct};
use tramline_workflow::journal::ContentDigest;

/// The extension's name among the capabilities.
pub(crate) const EXTENSION: &str = "io.modelcontextprotocol/skills";
const SCHEME: &str = "skill://";
const LIST_METHOD: &str = "skills/list";
const GET_METHOD: &str = "skills/get";

/// All skills that are served now.
fn all(shared: &SharedState) -> Vec<Skill> {
    let catalog = shared.catalog();
    let workflows = catalog
        .graphs()
        .map(|graph| Skill::of_workflow(&graph.workflow));
    distinct(workflows.chain(shared.procedure_skills()))
}

fn uri(skill: &Skill) -> String {
    format!("{SCHEME}{}/{SKILL_FILE}", skill.name)
}

/// The skills as resources.
pub(crate) fn resources(shared: &SharedState) -> Vec<Resource> {
    let resource = |skill: &Skill| {
        Resource::new(uri(skill), skill.name.as_str())
            .with_title(skill.name.as_str())
            .with_description(skill.description.as_str())
            .with_mime_type("text/markdown")
            .with_size(skill.text.len() as u64)
    };
    all(shared).iter().map(resource).collect()
}

/// Reads a skill's file.
pub(crate) fn read(shared: &SharedState, asked: &str) -> Option<ResourceContents> {
    asked.strip_prefix(SCHEME)?;
    let found = all(shared).into_iter().find(|skill| uri(skill) == asked)?;
    Some(ResourceContents::text(found.text, asked).with_mime_type("text/markdown"))
}

/// Answers the requests of the extension.
pub(crate) fn answer(
    shared: &SharedState,
    request: CustomRequest,
    context: &RequestContext<RoleServer>,
) -> Result<CustomResult, ErrorData> {
    let text = |key: &str| {
        request
            .params
            .as_ref()
            .and_then(|params| params.get(key)?.as_str())
    };
    let mut answer = match request.method.as_str() {
        LIST_METHOD => list(shared, text("cursor"))?,
        GET_METHOD => json!({ "skill": get(shared, text("uri").unwrap_or_default())? }),
        other => {
            return Err(ErrorData::new(
                ErrorCode::METHOD_NOT_FOUND,
                other.to_owned(),
                None,
            ));
        }
    };
    let is_modern = context
        .protocol_version()
        .is_some_and(|version| !version.has_initialize());
    if let (true, Some(map)) = (is_modern, answer.as_object_mut()) {
        map.insert("resultType".into(), "complete".into());
        map.insert("ttlMs".into(), 0.into());
        map.insert("cacheScope".into(), "public".into());
    }
    Ok(CustomResult::new(answer))
}

fn list(shared: &SharedState, cursor: Option<&str>) -> Result<Json, ErrorData> {
    let offset = Cursor::parse(cursor)?.offset()?;
    let (page, next) = resources::static_page(all(shared), offset);
    let mut listed = json!({ "skills": page.iter().map(entry).collect::<Vec<_>>() });
    if let (Some(next), Some(map)) = (next, listed.as_object_mut()) {
        map.insert("nextCursor".into(), next.to_string().into());
    }
    Ok(listed)
}

fn get(shared: &SharedState, asked: &str) -> Result<Json, ErrorData> {
    let found = all(shared).into_iter().find(|skill| uri(skill) == asked);
    found
        .as_ref()
        .map(entry)
        .ok_or_else(|| resources::not_found(asked))
}

fn entry(skill: &Skill) -> Json {
    let uri = uri(skill);
    json!({
        "uri": uri,
        "frontmatter": {"name": skill.name, "description": skill.description},
        "resources": [{
            "uri": uri,
            "digest": ContentDigest::of(skill.text.as_bytes()).to_string(),
            "size": skill.text.len(),
        }],
    })
}
