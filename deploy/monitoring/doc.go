// Package monitoring defines what is watched about a running service: objectives
// for each lane, alerts and dashboards, once each. What Prometheus, Grafana and
// Cloud Monitoring load is generated from it.
package monitoring

//go:generate go run ./generate
