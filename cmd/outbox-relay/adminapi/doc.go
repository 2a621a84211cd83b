// Package adminapi is a client of the service's admin API, /admin/v1.
package adminapi
