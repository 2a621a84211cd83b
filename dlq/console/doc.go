// Package console is the DLQ Manager: the web console below /console/, for the
// people and roles of the admin API.
//
// Every screen is one GET that renders a whole page on the server from what the
// admin API answers, so that roles, refusals and audit are the API's own. Every
// action is one POST that ends in a redirect to such a page. Scripts add to that
// and replace nothing: they fetch the same pages again when the server says that
// something changed, and morph what is shown into what was fetched.
package console
