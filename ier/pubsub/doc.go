// Package pubsub delivers records to Pub/Sub topics through Google's client.
//
// [Clients] holds a connection of its own for each lane. A [Target] is one
// topic: it publishes the records of an aggregate under their ordering key, in
// order, and says of each whether it was acknowledged, failed, or stayed behind
// an older one that failed. A [Sampler] publishes lag samples, and loses some
// rather than slow a delivery.
package pubsub
