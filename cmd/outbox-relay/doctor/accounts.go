package doctor

import (
	"context"

	"outboxrelay/claims"
	claimsfirebase "outboxrelay/claims/firebase"
	"outboxrelay/contracts"
)

const (
	authAPI  = "identitytoolkit.googleapis.com"
	authRole = "roles/firebaseauth.admin"
	// nobody is the uid of no user.
	nobody = "outbox-relay-doctor-nobody"
)

// accounts looks up a user who does not exist, as the handler of claims would one
// who does. That claims may be set is asked of IAM alone: there is no harmless way
// to try.
func (e *exam) accounts(ctx context.Context) Group {
	g := Group{Name: "auth"}
	const check, did = "auth.lookup", "look up a user who does not exist"
	switch {
	case e.catalog == nil:
		g.skip(check, "there is no catalog")
		return g
	case !e.handles():
		g.skip(check, "no target of the catalog sets claims")
		return g
	}
	if !e.mayAsk(ctx, &g, check, e.Auth, "--auth") {
		return g
	}
	ctx, cancel := within(ctx)
	defer cancel()
	users, err := claimsfirebase.Open(ctx, e.Project, claimsfirebase.WithEmulator(e.Auth))
	if err != nil {
		g.add(Finding{Check: check, Result: Fail, Did: "connect to Firebase Auth", Detail: why(err), Hint: "FIREBASE_AUTH_EMULATOR_HOST wants HOST:PORT"})
		return g
	}
	defer users.Close()
	_, err = users.User(ctx, nobody)
	f := Finding{Check: check, Result: Fail, Did: did}
	switch code := contracts.CodeOf(err); {
	case err == nil, code == claims.CodeUserNotFound:
		f.Result, f.Detail = OK, "users can be looked up"
	case code == "PermissionDenied":
		f.Detail, f.Mend = e.account.name()+" may not look up users: "+why(err), []string{e.grant(authRole)}
	case code == "NotConfigured":
		f.Detail = "the project has no Firebase Auth: " + why(err)
		f.Mend = []string{e.gcloud("services", "enable", authAPI)}
		f.Hint = "then open Authentication in the Firebase console once, which sets it up"
	case code == "ProjectRefused":
		f.Detail = "Firebase Auth does not serve the project: " + why(err)
		f.Hint = "look in the Google Cloud console whether the project is active and has billing, and in the Firebase console what Authentication allows"
	case code == "NoCredentials", code == "Unauthenticated":
		f.Detail, f.Mend = why(err), []string{loginCommand}
	case code == "Canceled":
		f.Result, f.Detail = Skip, "interrupted"
	default:
		f.Detail = code + ": " + why(err)
		f.Hint = "look again; if it stays, look whether this machine gets through to " + authAPI
	}
	g.add(f)
	return g
}
