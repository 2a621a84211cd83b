package auth

import "net/http"

// Methods, as Counts and Fault name them.
const (
	MethodCreate          = "accounts"
	MethodLookup          = "accounts:lookup"
	MethodUpdate          = "accounts:update" // custom claims and revocation too
	MethodDelete          = "accounts:delete"
	MethodBatchDelete     = "accounts:batchDelete"
	MethodBatchGet        = "accounts:batchGet"
	MethodQuery           = "accounts:query"
	MethodSignUp          = "accounts:signUp"
	MethodSignInPassword  = "accounts:signInWithPassword"
	MethodSignInCustom    = "accounts:signInWithCustomToken"
	MethodToken           = "token"
	MethodDeleteAll       = "emulator:deleteAccounts"
	identityToolkit       = "/identitytoolkit.googleapis.com/v1/"
	secureToken           = "/securetoken.googleapis.com/v1/"
	emulator              = "/emulator/v1/"
	corsPreflightLifetime = "3600" // s
)

// methods are all of the above, for what is counted to be there from the start.
var methods = []string{
	MethodCreate, MethodLookup, MethodUpdate, MethodDelete, MethodBatchDelete, MethodBatchGet, MethodQuery,
	MethodSignUp, MethodSignInPassword, MethodSignInCustom, MethodToken, MethodDeleteAll,
}

// routes is the whole API.
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	admin := func(verb, method string, do operation) {
		mux.HandleFunc(verb+" "+identityToolkit+"projects/{project}/"+method, s.serve(method, byPath, do))
	}
	client := func(method string, do operation) {
		mux.HandleFunc("POST "+identityToolkit+method, s.serve(method, byKey, do))
	}
	admin("POST", MethodCreate, withBody(signUp))
	admin("POST", MethodLookup, withBody(lookup))
	admin("POST", MethodUpdate, withBody(update))
	admin("POST", MethodDelete, withBody(remove))
	admin("POST", MethodBatchDelete, withBody(batchDelete))
	admin("GET", MethodBatchGet, batchGet)
	admin("POST", MethodQuery, withBody(query))

	client(MethodSignUp, withBody(signUp))
	client(MethodLookup, withBody(lookup))
	client(MethodUpdate, withBody(update))
	client(MethodDelete, withBody(remove))
	client(MethodSignInPassword, withBody(signInWithPassword))
	client(MethodSignInCustom, withBody(signInWithCustomToken))

	mux.HandleFunc("POST "+secureToken+MethodToken, s.serve(MethodToken, byKey, refresh))
	mux.HandleFunc("DELETE "+emulator+"projects/{project}/accounts", s.serve(MethodDeleteAll, anyone, deleteAll))

	mux.HandleFunc("GET /{$}", s.ready)
	mux.HandleFunc("/", s.leftOut)
	return crossOrigin(mux)
}

// ready answers what waits for an emulator to come up.
func (s *Server) ready(w http.ResponseWriter, _ *http.Request) {
	s.answer(w, "ready", map[string]any{"authEmulator": map[string]any{"ready": true}}, nil)
}

func (s *Server) leftOut(w http.ResponseWriter, r *http.Request) {
	s.answer(w, "unsupported", nil, unsupported(r.Method+" "+r.URL.Path))
}

// crossOrigin lets the pages of any site call, as Auth does: nothing here goes by cookies.
func crossOrigin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		if origin := r.Header.Get("Origin"); origin != "" {
			header.Set("Access-Control-Allow-Origin", origin)
			header.Add("Vary", "Origin")
		}
		if r.Method != http.MethodOptions {
			next.ServeHTTP(w, r)
			return
		}
		header.Set("Access-Control-Allow-Methods", "GET,HEAD,PUT,PATCH,POST,DELETE")
		header.Set("Access-Control-Allow-Headers", r.Header.Get("Access-Control-Request-Headers"))
		header.Set("Access-Control-Max-Age", corsPreflightLifetime)
		w.WriteHeader(http.StatusNoContent)
	})
}
