// Package auth tells who asks something of the admin API, and what they may do.
// Who it is comes with the request, signed; what they may do stands in a file.
package auth
