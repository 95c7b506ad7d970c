//! One client's connection: lists tools and dispatches each call to its front end.

#![expect(
    deprecated,
    reason = "the newest revision drops logging and single subscriptions; clients of the older ones use them"
)]

use super::catalog::CatalogEntry;
use super::client_log::LogLevel;
use super::subscribers::{SUBSCRIPTIONS_MAX, SubscribedUris, Subscribers, watched_run};
use super::tool::CallContext;
use super::tools::{graphs, session};
use super::{
    SharedState, audit_log, completion, prompts, request_state, resources, skills, tasks, tool,
};
use rmcp::ErrorData;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, CompleteRequestParams,
    CompleteResult, CustomRequest, CustomResult, GetPromptRequestParams, GetPromptResponse,
    GetTaskParams, GetTaskResult, JsonObject, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams,
    ReadResourceResponse, ServerConfig, SetLevelRequestParams, SubscribeRequestParams,
    SubscriptionFilter, Tool, UnsubscribeRequestParams, UpdateTaskParams,
};
use rmcp::service::{NotificationContext, RequestContext, RoleServer, SubscriptionContext};
use std::collections::BTreeSet;
use std::sync::Arc;

/// One client's connection. Its only state is the log level and its subscriptions.
pub(super) struct ClientConnection {
    shared: Arc<SharedState>,
    level: LogLevel,
    uris: SubscribedUris,
}

impl ClientConnection {
    pub(super) fn new(shared: Arc<SharedState>) -> Self {
        Self {
            shared,
            level: LogLevel::default(),
            uris: SubscribedUris::default(),
        }
    }

    /// The context and the arguments of a call to one of our tools.
    async fn call_context(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(CallContext, Option<JsonObject>), ErrorData> {
        let brought = match &request.request_state {
            None => None,
            Some(sealed) => {
                let store = self.shared.engine.store();
                let opened =
                    request_state::unseal_request(store, &request.name, sealed, &context).await;
                let state = match opened {
                    Ok(state) => state,
                    Err(error) => {
                        self.record_rejected(&request, &context, &error).await?;
                        return Err(error);
                    }
                };
                Some((state, request.input_responses.unwrap_or_default()))
            }
        };
        let means = CallContext {
            engine: self.shared.engine.clone(),
            catalog: self.shared.callable.clone(),
            shared: Arc::clone(&self.shared),
            log: self.level.for_request(&context.meta),
            client_answers: brought,
            request: context,
        };
        Ok((means, request.arguments))
    }

    /// Records a call with an invalid `requestState`.
    async fn record_rejected(
        &self,
        request: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
        error: &ErrorData,
    ) -> Result<(), ErrorData> {
        let arguments = tool::to_value(request.arguments.clone());
        let call = (request.name.as_ref(), context);
        let engine = &self.shared.engine;
        let recorded = audit_log::record_rejected_call(engine, call, &arguments, error).await;
        recorded.map_err(|fault| ErrorData::internal_error(fault.to_string(), None))
    }

    /// Dispatches a call to its front end.
    async fn dispatch(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let offer = self.shared.catalog();
        let reply = match offer.find(&request.name) {
            Ok(CatalogEntry::Graph(served)) => {
                let log = self.level.for_request(&context.meta);
                // Boxed, here and below: rmcp moves these large futures several times.
                let call = graphs::call(&self.shared, served, request, context, log);
                let reply = Box::pin(call).await;
                self.shared.update_annotations();
                return reply;
            }
            Ok(CatalogEntry::Builtin(own)) => {
                let (means, arguments) = Box::pin(self.call_context(request, context)).await?;
                own.check_and_audit(means, arguments).await
            }
            Err(near) => {
                if let Some(gated) = self.shared.toolset_state.extra_tool(&request.name) {
                    let request_name = request.name.to_string();
                    let (means, arguments) = Box::pin(self.call_context(request, context)).await?;
                    let shown = tool::to_value(arguments.clone());
                    let noting = audit_log::audited_call(&means, &request_name, &shown);
                    let call = gated.call(means, arguments);
                    return Ok(Box::pin(noting.run(call)).await);
                }
                let near =
                    near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
                let message = format!("unknown tool `{}`{near}", request.name);
                return Err(ErrorData::invalid_params(message, None));
            }
        };
        Ok(reply)
    }
}

impl ServerHandler for ClientConnection {
    fn get_info(&self) -> ServerConfig {
        let about = &self.shared.catalog().server;
        about.to_info(self.shared.toolset_info(), self.shared.prefix().note())
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.shared
            .subscribers
            .add_session(context.peer, self.level.clone(), self.uris.clone());
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.level.set(request.level);
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(Subscribers::accepted(requested))
    }

    async fn listen(&self, subscriber: SubscriptionContext) -> Result<(), ErrorData> {
        let mut visible = BTreeSet::new();
        for uri in subscriber
            .accepted()
            .resource_subscriptions
            .iter()
            .flatten()
        {
            // What the caller may not see is treated as something that never changes.
            if Box::pin(resources::exists(
                &self.shared,
                uri,
                subscriber.request_context(),
            ))
            .await
                && watched_run(uri).is_none_or(|run| self.shared.watch_run(&run))
            {
                visible.insert(uri.clone());
            }
        }
        let subscribers = &self.shared.subscribers;
        subscribers.notify_subscriber(&subscriber, &visible).await;
        Ok(())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.shared.list_tools()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let tools = self.shared.engine.tools();
        let name = self.shared.prefix().strip(name);
        let shown = self.shared.catalog().describe(name, tools.as_ref());
        let state = &self.shared.toolset_state;
        let shown = shown.map(|tool| state.describe(tool));
        let shown = shown.or_else(|| Some(state.extra_tool(name)?.describe()));
        shown.map(|tool| self.shared.prefix().apply(tool))
    }

    async fn call_tool(
        &self,
        mut request: CallToolRequestParams,
        mut context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let own = self.shared.prefix().strip(&request.name);
        if own.len() != request.name.len() {
            request.name = own.to_owned().into();
        }
        request_state::note_arguments(&mut context, request.arguments.as_ref());
        if !session::is_named(&context) {
            return self.dispatch(request, context).await;
        }
        match Box::pin(session::of_request(&self.shared, &context)).await {
            Ok(None) => self.dispatch(request, context).await,
            Ok(Some(id)) => {
                let answer = Box::pin(self.dispatch(request, context));
                session::run_in(id, answer).await
            }
            Err(fault) => Ok(session::fault_reply(&fault).into()),
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

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        prompts::list(&self.shared, cursor(&request))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        Box::pin(prompts::get(&self.shared, request, &context)).await
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Box::pin(resources::list(&self.shared, cursor(&request), &context)).await
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let read = Box::pin(resources::read(&self.shared, &request.uri, &context)).await;
        read.map(Into::into)
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        resources::templates(&self.shared, cursor(&request))
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if !Box::pin(resources::exists(&self.shared, &request.uri, &context)).await {
            return Err(resources::not_found(&request.uri));
        }
        let watched = watched_run(&request.uri).is_none_or(|run| self.shared.watch_run(&run));
        match watched && self.uris.add(&request.uri) {
            true => Ok(()),
            false => {
                let message = format!("too many subscriptions; the limit is {SUBSCRIPTIONS_MAX}");
                Err(ErrorData::invalid_request(message, None))
            }
        }
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.uris.remove(&request.uri);
        Ok(())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Box::pin(completion::complete(&self.shared, &request, &context)).await
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        skills::answer(&self.shared, request, &context)
    }
}

/// The cursor of a request for a page.
fn cursor(request: &Option<PaginatedRequestParams>) -> Option<&str> {
    request.as_ref()?.cursor.as_deref()
}
