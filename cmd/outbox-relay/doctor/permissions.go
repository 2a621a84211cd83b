package doctor

import (
	"context"
	"slices"

	"google.golang.org/api/cloudresourcemanager/v3"

	"outboxrelay/deploy/requirements"
)

// permissions asks IAM for each permission that the service's calls need. It is
// the one way to ask about calls that have no harmless form, such as the setting of
// claims.
func (e *exam) permissions(ctx context.Context) Group {
	g := Group{Name: "permissions"}
	const check, did = "permissions", "ask the Resource Manager for each permission in the project"
	switch {
	case e.needs == nil:
		g.skip(check, "there is no catalog")
		return g
	case !e.anyReal() && e.ResourceOptions == nil:
		g.skip(check, "emulators grant everything to everybody")
		return g
	}
	if reason := e.unreachable(e.ResourceOptions == nil); reason != "" {
		g.skip(check, "%s", reason)
		return g
	}
	needed := e.needed()
	granted, err := e.testPermissions(ctx, needed)
	if err != nil {
		g.skip(check, "the Resource Manager does not tell: %s", why(err))
		return g
	}
	held := 0
	for _, p := range needed {
		if slices.Contains(granted, p.Name) {
			held++
			continue
		}
		f := Finding{
			Check: check, Result: Fail, Subject: p.Name, Did: did, Detail: e.account.name() + " lacks it in the project; needed for " + p.Call,
			Mend: []string{e.grant(p.Role)},
		}
		if p.Name == publish {
			f.Result, f.Detail = OK, "not granted in the whole project; see pubsub.publish for each topic"
			f.Mend = nil
		}
		g.add(f)
	}
	if held > 0 {
		g.ok(check, did, "%s has %d of %d permissions", e.account.name(), held, len(needed))
	}
	return g
}

// needed are the permissions that these settings need from Google's own services.
func (e *exam) needed() []requirements.Permission {
	own := map[string]bool{firestoreAPI: e.Firestore == "", pubsubAPI: e.PubSub == "", authAPI: e.Auth == ""}
	return slices.DeleteFunc(slices.Clone(e.needs.Permissions), func(p requirements.Permission) bool {
		emulated := !own[p.Service] && e.ResourceOptions == nil
		return emulated || !e.applies(p.When)
	})
}

// applies reports whether the setting that a permission is needed for is on.
func (e *exam) applies(when string) bool {
	switch when {
	case requirements.WhenEnsureTopics:
		return e.EnsureTopics
	case requirements.WhenHandler:
		return e.handles()
	}
	return true
}

// testPermissions returns those of the permissions that the caller has.
func (e *exam) testPermissions(ctx context.Context, needed []requirements.Permission) ([]string, error) {
	ctx, cancel := within(ctx)
	defer cancel()
	client, err := cloudresourcemanager.NewService(ctx, e.ResourceOptions...)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, p := range needed {
		names = append(names, p.Name)
	}
	slices.Sort(names)
	resp, err := client.Projects.TestIamPermissions("projects/"+e.Project, &cloudresourcemanager.TestIamPermissionsRequest{
		Permissions: slices.Compact(names),
	}).Context(ctx).Do()
	if err != nil {
		return nil, err
	}
	return resp.Permissions, nil
}
