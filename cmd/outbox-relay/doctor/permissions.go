package doctor

import (
	"context"
	"fmt"
	"slices"

	"google.golang.org/api/cloudresourcemanager/v3"
	"google.golang.org/grpc/codes"

	"outboxrelay/deploy/requirements"
)

// grants is what IAM says of the project.
type grants struct {
	granted []string // names of permissions
	silent  string   // why it says nothing
}

// askIAM asks IAM for each permission that the service's calls need. It is the one
// way to ask about calls that have no harmless form, such as the setting of claims.
func (e *exam) askIAM(ctx context.Context) grants {
	switch {
	case e.needs == nil:
		return grants{silent: "there is no catalog"}
	case !e.anyReal() && e.ResourceOptions == nil:
		return grants{silent: "emulators grant everything to everybody"}
	}
	if reason := e.unreachable(e.ResourceOptions == nil); reason != "" {
		return grants{silent: reason}
	}
	granted, err := e.testPermissions(ctx, e.needed())
	if err != nil {
		return grants{silent: "the Resource Manager does not tell: " + why(err)}
	}
	return grants{granted: granted}
}

// permissions tells what is not granted in the project. The project's answer knows
// neither of what is granted on a smaller resource nor of what a condition grants, as
// deploy/terraform does: the calls themselves have shown these.
func (e *exam) permissions(said grants, shown []Group) Group {
	g := Group{Name: "permissions"}
	const check, did = "permissions", "ask the Resource Manager for each permission in the project"
	if said.silent != "" {
		g.skip(check, "%s", said.silent)
		return g
	}
	held, needed := 0, e.needed()
	for _, p := range needed {
		if slices.Contains(said.granted, p.Name) {
			held++
			continue
		}
		f := e.notInProject(p, shown)
		f.Check, f.Subject, f.Did = check, p.Name, did
		g.add(f)
	}
	if held > 0 {
		g.ok(check, did, "%s has %d of %d permissions in the whole project", e.account.name(), held, len(needed))
	}
	return g
}

// shownBy names the check whose call needs a permission.
var shownBy = map[string]string{
	"datastore.entities.get":    "firestore.read",
	"datastore.entities.list":   "firestore.query",
	"datastore.databases.get":   "firestore.transaction",
	"datastore.entities.create": "firestore.write",
	"datastore.entities.update": "firestore.write",
	"datastore.entities.delete": "firestore.write",
	"firebaseauth.users.get":    "auth.lookup",
}

// notInProject judges a permission that the project does not grant.
func (e *exam) notInProject(p requirements.Permission, shown []Group) Finding {
	lacks := e.account.name() + " lacks it in the project; needed for " + p.Call
	fail := Finding{Result: Fail, Detail: lacks, Mend: []string{e.grant(p.Role)}}
	switch {
	case p.Name == publish:
		return Finding{Result: OK, Detail: "not in the whole project; see pubsub.publish for each topic"}
	case p.Name == getTopic:
		return e.topicByTopic(p, lacks)
	case p.Service == authAPI && shownBy[p.Name] == "": // which knows no smaller resource than the project
		return fail
	}
	call := shownBy[p.Name]
	switch resultOf(shown, call) {
	case OK:
		return Finding{Result: OK, Detail: "not in the whole project, but the call succeeds: see " + call}
	case Fail:
		return fail
	}
	return untold(p, lacks)
}

// topicByTopic judges the look at topics by the looks at each.
func (e *exam) topicByTopic(p requirements.Permission, lacks string) Finding {
	seen := 0
	var denied []string
	for _, t := range e.looked {
		switch codeOf(t.err) {
		case codes.OK:
			seen++
		case codes.PermissionDenied:
			denied = append(denied, e.grantOnTopic(t.Name, p.Role))
		}
	}
	switch {
	case len(denied) > 0:
		return Finding{Result: Fail, Detail: fmt.Sprintf("%s; it is refused for %d of %d topics", lacks, len(denied), len(e.looked)), Mend: denied}
	case seen > 0:
		return Finding{Result: OK, Detail: fmt.Sprintf("not in the whole project, but the call succeeds for %d topics", seen)}
	}
	return untold(p, lacks)
}

// untold is the finding about a permission of which no call has told.
func untold(p requirements.Permission, lacks string) Finding {
	return Finding{
		Result: Warn, Detail: lacks + ". No call of the doctor's tells whether it is granted otherwise",
		Hint: "nothing is amiss if a condition grants it, or a role on a smaller resource, neither of which the project's answer knows; else grant it, as " + p.Role + " does",
	}
}

// resultOf is how a check ended: Fail where one of its findings is, Skip where it
// was not judged.
func resultOf(groups []Group, check string) Result {
	result := Skip
	for _, g := range groups {
		for _, f := range g.Findings {
			switch {
			case f.Check != check:
			case f.Result == Fail:
				return Fail
			case f.Result == OK:
				result = OK
			}
		}
	}
	return result
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
