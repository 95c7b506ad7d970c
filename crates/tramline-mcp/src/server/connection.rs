//! One client's connection: lists what there is and hands each call to its front end.

#![expect(
    deprecated,
    reason = "the newest revision drops logging; clients of the older ones use it"
)]

use super::log::Level;
use super::offer::Found;
use super::toolset::{Means, Toolset};
use super::{Shared, audited, graph_tools, seal, sop, tasks, toolset};
use rmcp::ErrorData;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, CompleteRequestMethod,
    CompleteRequestParams, CompleteResult, GetPromptRequestMethod, GetPromptRequestParams,
    GetPromptResponse, GetTaskParams, GetTaskResult, JsonObject, ListPromptsRequestMethod,
    ListPromptsResult, ListResourceTemplatesRequestMethod, ListResourceTemplatesResult,
    ListResourcesRequestMethod, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestMethod, ReadResourceRequestParams, ReadResourceResponse, ServerConfig,
    SetLevelRequestParams, SubscriptionFilter, Tool, UpdateTaskParams,
};
use rmcp::service::{NotificationContext, RequestContext, RoleServer, SubscriptionContext};
use std::sync::Arc;

/// One client's connection. It keeps nothing of its own but how much log it wants.
pub(super) struct Connection {
    shared: Arc<Shared>,
    level: Level,
}

impl Connection {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        let level = Level::default();
        Self { shared, level }
    }

    /// What a tool of ours works with, and the arguments it was called with.
    async fn means(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(Means, Option<JsonObject>), ErrorData> {
        let brought = match &request.request_state {
            None => None,
            Some(sealed) => {
                let store = self.shared.engine.store();
                let state = seal::opened(store, &request.name, sealed).await?;
                Some((state, request.input_responses.unwrap_or_default()))
            }
        };
        let means = Means {
            engine: self.shared.engine.clone(),
            shared: Arc::clone(&self.shared),
            log: self.level.of(&context.meta),
            brought,
            context,
        };
        Ok((means, request.arguments))
    }

    /// Hands a call to its front end.
    async fn answer(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let offer = self.shared.offer();
        let reply = match offer.find(&request.name) {
            Ok(Found::Graph(served)) => {
                let log = self.level.of(&context.meta);
                // In boxes, here and below: the library copies what it is given several times.
                let call = graph_tools::call(&self.shared, served, request, context, log);
                let reply = Box::pin(call).await;
                self.shared.learn();
                return reply;
            }
            Ok(Found::Own(own)) => {
                let (means, arguments) = Box::pin(self.means(request, context)).await?;
                own.call(means, arguments).await
            }
            Err(near) => {
                if let Some(gated) = self.shared.gated(&request.name) {
                    let request_name = request.name.to_string();
                    let (means, arguments) = Box::pin(self.means(request, context)).await?;
                    let shown = toolset::read(arguments.clone());
                    let noting = audited::begin(&means, &request_name, &shown);
                    let call = gated.call(means, arguments);
                    return Ok(Box::pin(noting.over(call)).await);
                }
                let near =
                    near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
                let message = format!("there is no tool `{}`{near}", request.name);
                return Err(ErrorData::invalid_params(message, None));
            }
        };
        Ok(reply)
    }
}

impl ServerHandler for Connection {
    fn get_info(&self) -> ServerConfig {
        let has = |set: Toolset| self.shared.toolsets.contains(&set);
        let takes_intents = has(Toolset::Control) || has(Toolset::Loop);
        let sops = has(Toolset::Sop).then(|| sop::instructions(self.shared.seats.pinned()));
        let about = &self.shared.offer().about;
        about.to_info(sops, takes_intents)
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.shared.audience.join(context.peer, self.level.clone());
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.level.set(request.level);
        Ok(())
    }

    fn accepted_subscription_filter(&self, _: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(SubscriptionFilter::builder().tools_list_changed().build())
    }

    async fn listen(&self, subscriber: SubscriptionContext) -> Result<(), ErrorData> {
        self.shared.audience.follow(&subscriber).await;
        Ok(())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.shared.listed()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let tools = self.shared.engine.tools();
        let shown = self.shared.offer().show(name, tools.as_ref());
        let shown = shown.map(|tool| sop::listed(tool, self.shared.seats.pinned()));
        shown.or_else(|| Some(self.shared.gated(name)?.describe()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if !sop::is_named(&context) {
            return self.answer(request, context).await;
        }
        match Box::pin(sop::named(&self.shared, &context)).await {
            Ok(None) => self.answer(request, context).await,
            Ok(Some(id)) => {
                let answer = Box::pin(self.answer(request, context));
                tramline_engine::in_conversation(id, answer).await
            }
            Err(fault) => Ok(sop::fault(&fault).into()),
        }
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        Box::pin(tasks::get(&self.shared, &request.task_id, &context)).await
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let responses = &request.input_responses;
        Box::pin(tasks::update(
            &self.shared,
            &request.task_id,
            responses,
            &context,
        ))
        .await
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Box::pin(tasks::cancel(&self.shared, &request.task_id, &context)).await
    }

    // What is not declared is not there: the library would answer these with empty lists.

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        match self.shared.toolsets.contains(&Toolset::Sop) {
            true => Ok(sop::list(&self.shared)),
            false => Err(ErrorData::method_not_found::<ListPromptsRequestMethod>()),
        }
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        match self.shared.toolsets.contains(&Toolset::Sop) {
            true => Ok(sop::get(&self.shared, &request.name)?.into()),
            false => Err(ErrorData::method_not_found::<GetPromptRequestMethod>()),
        }
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        match self.shared.toolsets.contains(&Toolset::Sop) {
            true => Ok(sop::list_resources(&self.shared)),
            false => Err(ErrorData::method_not_found::<ListResourcesRequestMethod>()),
        }
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        match self.shared.toolsets.contains(&Toolset::Sop) {
            true => Ok(sop::read(&self.shared, &request.uri)?.into()),
            false => Err(ErrorData::method_not_found::<ReadResourceRequestMethod>()),
        }
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Err(ErrorData::method_not_found::<
            ListResourceTemplatesRequestMethod,
        >())
    }

    async fn complete(
        &self,
        _: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Err(ErrorData::method_not_found::<CompleteRequestMethod>())
    }
}
