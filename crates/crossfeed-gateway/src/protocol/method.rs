//! The methods of every revision that the gateway speaks.

macro_rules! methods {
    ($($name:ident = $text:literal;)*) => {
        $(pub(crate) const $name: &str = $text;)*

        /// All of them, the most common first.
        pub(crate) const ALL: &[&str] = &[$($name),*];
    };
}

methods! {
    CALL_TOOL = "tools/call";
    LIST_TOOLS = "tools/list";
    PING = "ping";
    INITIALIZE = "initialize";
    DISCOVER = "server/discover";
    READ_RESOURCE = "resources/read";
    LIST_RESOURCES = "resources/list";
    LIST_TEMPLATES = "resources/templates/list";
    SUBSCRIBE = "resources/subscribe";
    UNSUBSCRIBE = "resources/unsubscribe";
    LISTEN = "subscriptions/listen";
    GET_PROMPT = "prompts/get";
    LIST_PROMPTS = "prompts/list";
    COMPLETE = "completion/complete";
    SET_LEVEL = "logging/setLevel";
    LIST_SKILLS = "skills/list";
    GET_TASK = "tasks/get";
    TASK_RESULT = "tasks/result";
    LIST_TASKS = "tasks/list";
    CANCEL_TASK = "tasks/cancel";
    UPDATE_TASK = "tasks/update";
    LIST_ROOTS = "roots/list";
    CREATE_MESSAGE = "sampling/createMessage";
    ELICIT = "elicitation/create";
    INITIALIZED = "notifications/initialized";
    CANCELLED = "notifications/cancelled";
    PROGRESS = "notifications/progress";
    LOG_MESSAGE = "notifications/message";
    ROOTS_CHANGED = "notifications/roots/list_changed";
    TOOLS_CHANGED = "notifications/tools/list_changed";
    PROMPTS_CHANGED = "notifications/prompts/list_changed";
    RESOURCES_CHANGED = "notifications/resources/list_changed";
    RESOURCE_UPDATED = "notifications/resources/updated";
    ACKNOWLEDGED = "notifications/subscriptions/acknowledged";
    ELICITED = "notifications/elicitation/complete";
    TASK_CHANGED = "notifications/tasks";
    TASK_STATUS = "notifications/tasks/status";
}
