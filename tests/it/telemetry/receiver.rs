//! A receiver of OTLP on loopback: HTTP with protobuf and gRPC on one port, as collectors have.
//!
//! Comes in: requests of the official exporters. Goes out: the messages as they were decoded. How it answers
//! is the test's to say.

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Request, Response, body::Incoming};
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto,
};
use opentelemetry_proto::tonic::{
    collector::{
        logs::v1::{
            ExportLogsServiceRequest, ExportLogsServiceResponse,
            logs_service_server::{LogsService, LogsServiceServer},
        },
        trace::v1::{
            ExportTraceServiceRequest, ExportTraceServiceResponse,
            trace_service_server::{TraceService, TraceServiceServer},
        },
    },
    logs::v1::LogRecord,
    trace::v1::Span,
};
use parking_lot::Mutex;
use prost::Message;
use std::{
    convert::Infallible,
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
    thread::JoinHandle,
    time::Duration,
};
use tokio::{net::TcpListener, sync::oneshot};
use tonic::{Code, Status, body::Body, codegen::Service};

/// How a receiver answers.
#[derive(Clone, Copy, Debug)]
pub(super) enum Answer {
    /// It takes what it is sent.
    Accept,
    /// It decodes what it is sent and says that it will not have it, for good.
    Refuse,
    /// It takes its time first.
    After(Duration),
}

/// What was received, as it was decoded.
#[derive(Debug, Default)]
pub(super) struct Received {
    pub(super) traces: Vec<ExportTraceServiceRequest>,
    pub(super) logs: Vec<ExportLogsServiceRequest>,
}

impl Received {
    pub(super) fn spans(&self) -> impl Iterator<Item = &Span> {
        let resources = self
            .traces
            .iter()
            .flat_map(|request| &request.resource_spans);
        resources
            .flat_map(|resource| &resource.scope_spans)
            .flat_map(|scope| &scope.spans)
    }

    pub(super) fn records(&self) -> impl Iterator<Item = &LogRecord> {
        let resources = self.logs.iter().flat_map(|request| &request.resource_logs);
        resources
            .flat_map(|resource| &resource.scope_logs)
            .flat_map(|scope| &scope.log_records)
    }
}

/// A receiver that runs until it is dropped.
pub(super) struct Receiver {
    address: SocketAddr,
    received: Arc<Mutex<Received>>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Receiver {
    pub(super) fn start(answer: Answer) -> Self {
        let received = Arc::default();
        let desk = Desk {
            answer,
            received: Arc::clone(&received),
        };
        let (stop, stopped) = oneshot::channel();
        let (bound, address) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async {
                let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
                bound.send(listener.local_addr().unwrap()).unwrap();
                tokio::select! {
                    () = serve(listener, desk) => {}
                    _ = stopped => {}
                }
            });
        });
        Self {
            address: address.recv().unwrap(),
            received,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    /// Where HTTP and gRPC are spoken.
    pub(super) fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What was received since it was last asked.
    pub(super) fn take(&self) -> Received {
        std::mem::take(&mut self.received.lock())
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

async fn serve(listener: TcpListener, desk: Desk) {
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        let desk = desk.clone();
        tokio::spawn(async move {
            let answer = hyper::service::service_fn(move |request| desk.clone().answer(request));
            // A client that goes away is none of the receiver's failures.
            let _ = auto::Builder::new(TokioExecutor::new())
                .serve_connection(TokioIo::new(stream), answer)
                .await;
        });
    }
}

/// Who takes the requests of one receiver.
#[derive(Clone)]
struct Desk {
    answer: Answer,
    received: Arc<Mutex<Received>>,
}

impl Desk {
    async fn answer(self, request: Request<Incoming>) -> Result<Response<Body>, Infallible> {
        match request.uri().path() {
            "/v1/traces" => Ok(self.over_http(request, Received::add_trace).await),
            "/v1/logs" => Ok(self.over_http(request, Received::add_logs).await),
            path if path.contains("TraceService") => {
                TraceServiceServer::new(self).call(request).await
            }
            _ => LogsServiceServer::new(self).call(request).await,
        }
    }

    async fn over_http(
        &self,
        request: Request<Incoming>,
        add: fn(&mut Received, Bytes) -> Vec<u8>,
    ) -> Response<Body> {
        let body = request.into_body().collect().await.unwrap().to_bytes();
        let reply = add(&mut self.received.lock(), body);
        let status = if self.settle().await { 200 } else { 400 };
        Response::builder()
            .status(status)
            .header("content-type", "application/x-protobuf")
            .body(Body::new(Full::from(reply)))
            .unwrap()
    }

    /// Waits as long as it is to; says whether what came is accepted.
    async fn settle(&self) -> bool {
        match self.answer {
            Answer::Accept => true,
            Answer::Refuse => false,
            Answer::After(time) => {
                tokio::time::sleep(time).await;
                true
            }
        }
    }

    async fn over_grpc<T>(&self, reply: T) -> Result<tonic::Response<T>, Status> {
        if self.settle().await {
            Ok(tonic::Response::new(reply))
        } else {
            Err(Status::new(Code::InvalidArgument, "refused"))
        }
    }
}

impl Received {
    /// Whether a text stands anywhere in what was sent.
    pub(super) fn mentions(&self, text: &str) -> bool {
        let traces = self.traces.iter().map(Message::encode_to_vec);
        let logs = self.logs.iter().map(Message::encode_to_vec);
        let text = text.as_bytes();
        traces
            .chain(logs)
            .any(|sent| sent.windows(text.len()).any(|part| part == text))
    }

    fn add_trace(&mut self, body: Bytes) -> Vec<u8> {
        self.traces
            .push(ExportTraceServiceRequest::decode(body).unwrap());
        ExportTraceServiceResponse::default().encode_to_vec()
    }

    fn add_logs(&mut self, body: Bytes) -> Vec<u8> {
        self.logs
            .push(ExportLogsServiceRequest::decode(body).unwrap());
        ExportLogsServiceResponse::default().encode_to_vec()
    }
}

#[async_trait::async_trait]
impl TraceService for Desk {
    async fn export(
        &self,
        request: tonic::Request<ExportTraceServiceRequest>,
    ) -> Result<tonic::Response<ExportTraceServiceResponse>, Status> {
        self.received.lock().traces.push(request.into_inner());
        self.over_grpc(ExportTraceServiceResponse::default()).await
    }
}

#[async_trait::async_trait]
impl LogsService for Desk {
    async fn export(
        &self,
        request: tonic::Request<ExportLogsServiceRequest>,
    ) -> Result<tonic::Response<ExportLogsServiceResponse>, Status> {
        self.received.lock().logs.push(request.into_inner());
        self.over_grpc(ExportLogsServiceResponse::default()).await
    }
}
