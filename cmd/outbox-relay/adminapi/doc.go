// Package adminapi is a client of the service's admin API, /admin/v1. Its types hold what
// its callers read; dlq/admin has the whole of each.
package adminapi
