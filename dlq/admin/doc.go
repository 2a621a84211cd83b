// Package admin is the operators' HTTP API of the dead-letter queue: what may be
// read and decided, by whom, and how refusals are told. What a decision does is
// the queue's; who asks is found out by package auth.
//
// A request passes the guard first (who, how often, from where, how well formed)
// and then the handler of its operation, which huma feeds with typed input.
package admin
