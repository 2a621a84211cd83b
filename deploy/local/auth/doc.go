// Package auth is an embedded Firebase Auth: the part of the Identity Toolkit and
// Secure Token REST APIs that Admin SDKs and a signing-in client use, over HTTP, for
// the real clients to speak to through FIREBASE_AUTH_EMULATOR_HOST.
//
//	s, err := auth.Open(auth.Options{})
//	...
//	defer s.Close()
//	addr, err := s.Start("127.0.0.1:0")
//	os.Setenv("FIREBASE_AUTH_EMULATOR_HOST", addr)
//
// It is a convenience and no judge. Package conformance says what it does, and
// Google's emulator is held to the same tests; where the two differ, this one is
// wrong. One difference is meant: a refresh token that was revoked is refused, as
// production refuses it, while Google's emulator goes on taking it.
//
// Whoever says "Bearer owner" is the administrator. An API key is the ID of its
// project: a client that is given the project's ID as its key signs in there. ID
// tokens are unsigned, so nothing but an emulator may trust them. What it leaves out
// it refuses by name, with 501: tenants, phones, second factors, federated
// providers, e-mail links, session cookies, imports.
//
// # On disk
//
// With Options.DataDir, a change is in the operating system's hands before anyone
// sees it and on the disk before its client hears of it.
//
// # Faults
//
// Server.Faults makes calls fail on purpose, by method, account or field: with a
// status, a delay, a cut connection, or an answer that is lost after the call took
// effect. Server.AdminHandler does the same over HTTP.
package auth
