//! The attributes by which instrumentations carry payload, as data: each convention with its source
//! and version. `specs/telemetry-stripping.md` lists the same, and is tested against this.

use super::Kind::{self, Output, Payload, Plain, ToolResult};

/// Attributes of one convention.
pub(crate) struct Convention {
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "read by whoever reads the table")
    )]
    pub(crate) name: &'static str,
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "read by whoever reads the table")
    )]
    pub(crate) source: &'static str,
    /// Names, or patterns: `*` is one segment, a last `**` all that follow.
    pub(crate) attributes: &'static [(&'static str, Kind)],
}

/// Attributes of a span that say of which kind it is, the value that says "a tool", and values that
/// say nothing.
pub(crate) const SPAN_KINDS: &[(&str, &str, &[&str])] = &[
    ("gen_ai.operation.name", "execute_tool", &[]),
    ("mcp.method.name", "tools/call", &[]),
    ("ai.operationId", "ai.toolCall", &[]),
    ("openinference.span.kind", "TOOL", &["UNKNOWN"]),
    ("traceloop.span.kind", "tool", &["unknown"]),
    ("langfuse.observation.type", "tool", &["span", "event"]),
];

pub(crate) const CONVENTIONS: &[Convention] = &[
    Convention {
        name: "OpenTelemetry GenAI and MCP",
        source: "open-telemetry/semantic-conventions 1.41.0 and semantic-conventions-genai 1.42.0-dev",
        attributes: &[
            ("gen_ai.tool.call.result", ToolResult),
            ("gen_ai.tool.call.arguments", Payload),
            ("gen_ai.input.messages", Payload),
            ("gen_ai.output.messages", Payload),
            ("gen_ai.system_instructions", Payload),
            ("gen_ai.tool.definitions", Payload),
            ("gen_ai.retrieval.documents", Payload),
            ("gen_ai.retrieval.query.text", Payload),
            ("gen_ai.memory.query.text", Payload),
            ("gen_ai.memory.records", Payload),
            ("gen_ai.evaluation.explanation", Payload),
        ],
    },
    Convention {
        name: "OpenTelemetry GenAI, before",
        source: "open-telemetry/semantic-conventions 1.36.0 and before",
        attributes: &[
            ("gen_ai.prompt", Payload),
            ("gen_ai.completion", Payload),
            ("gen_ai.event.content", Payload),
            // Events: of these names are bodies known, and attributes without a namespace.
            ("gen_ai.system.message", Payload),
            ("gen_ai.user.message", Payload),
            ("gen_ai.assistant.message", Payload),
            ("gen_ai.tool.message", Payload),
            ("gen_ai.choice", Payload),
            ("gen_ai.*.message.role", Plain),
            ("gen_ai.*.message.id", Plain),
            ("gen_ai.choice.index", Plain),
            ("gen_ai.choice.finish_reason", Plain),
            // Which prompt, not what it says.
            ("gen_ai.prompt.name", Plain),
            ("gen_ai.prompt.version", Plain),
        ],
    },
    Convention {
        name: "Vercel AI SDK",
        source: "ai-sdk.dev, AI SDK Core, Telemetry: 4 to 7",
        attributes: &[
            ("ai.toolCall.result", ToolResult),
            ("ai.toolCall.args", Payload),
            ("ai.prompt", Payload),
            ("ai.prompt.messages", Payload),
            ("ai.prompt.tools", Payload),
            ("ai.response.text", Payload),
            ("ai.response.reasoning", Payload),
            ("ai.response.object", Payload),
            ("ai.response.toolCalls", Payload),
            ("ai.result.text", Payload),
            ("ai.result.object", Payload),
            ("ai.result.toolCalls", Payload),
            ("ai.schema", Payload),
            ("ai.value", Payload),
            ("ai.values", Payload),
            ("ai.documents", Payload),
            ("ai.ranking", Payload),
        ],
    },
    Convention {
        name: "OpenInference",
        source: "Arize-ai/openinference spec/semantic_conventions.md, 2026-11",
        attributes: &[
            ("output.value", Output),
            ("input.value", Payload),
            ("tool.parameters", Payload),
            ("tool.json_schema", Payload),
            ("llm.input_messages", Payload),
            ("llm.output_messages", Payload),
            ("llm.input_messages.*.message.role", Plain),
            ("llm.output_messages.*.message.role", Plain),
            ("llm.prompts", Payload),
            ("llm.completions", Payload),
            ("llm.prompts.*.prompt.text", Payload),
            ("llm.choices.*.completion.text", Payload),
            ("llm.function_call", Payload),
            ("llm.tools", Payload),
            ("llm.tools.*.tool.json_schema", Payload),
            ("llm.prompt_template.template", Payload),
            ("llm.prompt_template.variables", Payload),
            ("retrieval.documents", Payload),
            ("retrieval.documents.*.document.id", Plain),
            ("retrieval.documents.*.document.score", Plain),
            ("reranker.query", Payload),
            ("reranker.input_documents", Payload),
            ("reranker.output_documents", Payload),
            ("document.content", Payload),
            ("document.metadata", Payload),
            ("embedding.text", Payload),
            ("embedding.embeddings.*.embedding.text", Payload),
        ],
    },
    Convention {
        name: "Traceloop",
        source: "traceloop/openllmetry opentelemetry-semantic-conventions-ai 0.4",
        attributes: &[
            ("traceloop.entity.output", Output),
            ("traceloop.entity.input", Payload),
            ("mcp.response.value", Output),
            ("mcp.request.argument", Payload),
            ("gen_ai.prompt.*.content", Payload),
            ("gen_ai.prompt.*.role", Plain),
            ("gen_ai.prompt.*.tool_calls.*.arguments", Payload),
            ("gen_ai.completion.*.content", Payload),
            ("gen_ai.completion.*.role", Plain),
            ("gen_ai.completion.*.finish_reason", Plain),
            ("gen_ai.completion.*.tool_calls.*.arguments", Payload),
            ("llm.request.functions.*.parameters", Payload),
            ("llm.request.functions.*.description", Payload),
        ],
    },
    Convention {
        name: "Langfuse",
        source: "langfuse.com, OpenTelemetry property mapping; SDK 4",
        attributes: &[
            ("langfuse.observation.output", Output),
            ("langfuse.observation.input", Payload),
            ("langfuse.trace.input", Payload),
            ("langfuse.trace.output", Payload),
        ],
    },
];
