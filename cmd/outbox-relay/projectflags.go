package main

import (
	"outboxrelay/cmd/outbox-relay/gcp"
	"outboxrelay/cmd/outbox-relay/shell"
)

// projectFlags name the database and the project.
type projectFlags struct {
	Project  string `env:"GOOGLE_CLOUD_PROJECT" placeholder:"ID" help:"Google Cloud project."`
	Database string `env:"FIRESTORE_DATABASE" default:"(default)" help:"Firestore database."`
}

// place reads the emulators' addresses. A project is needed in any case.
func (f projectFlags) place(env shell.Lookup) (gcp.Place, error) {
	if f.Project == "" {
		return gcp.Place{}, shell.Usagef("no project: set GOOGLE_CLOUD_PROJECT or --project")
	}
	return gcp.Place{
		Project: f.Project, Database: f.Database,
		Firestore: env.Get(gcp.EnvFirestore), PubSub: env.Get(gcp.EnvPubSub), Auth: env.Get(gcp.EnvAuth),
	}, nil
}
