//! Replaces the delivery in builds without it: there are no endpoints.

use crate::report::Result;
use opentelemetry_sdk::{
    metrics::{MeterProviderBuilder, SdkMeterProvider},
    trace::{SdkTracerProvider, TracerProviderBuilder},
};

#[derive(Clone, Debug)]
pub(crate) enum Endpoint {}

#[derive(Debug)]
pub(crate) enum Delivery {}

impl Delivery {
    pub(crate) fn to(
        to: &Endpoint,
        _: TracerProviderBuilder,
        _: MeterProviderBuilder,
    ) -> Result<(TracerProviderBuilder, MeterProviderBuilder, Self)> {
        match *to {}
    }

    pub(crate) fn finish(
        &self,
        _: &SdkTracerProvider,
        _: &SdkMeterProvider,
        _: usize,
    ) -> Result<String> {
        match *self {}
    }

    pub(crate) fn end(&self, _: &SdkTracerProvider, _: &SdkMeterProvider) {
        match *self {}
    }
}
