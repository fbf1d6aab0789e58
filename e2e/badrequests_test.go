package e2e

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

// badRequest is a request that a server must reject.
type badRequest struct {
	name   string
	as     func(*apiClients) apiClient // selects the client; nil: the admin
	method string
	path   string
	header map[string]string
	body   string
	code   int
	words  []string // parts of the message, such as field, value and valid values
}

const (
	pods       = "/api/v1/namespaces/default/pods"
	configMaps = "/api/v1/namespaces/default/configmaps"
	existing   = configMaps + "/existing"
	roles      = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles"
	bindings   = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings"
)

func contentTypeHeader(contentType string) map[string]string {
	return map[string]string{"Content-Type": contentType}
}

var asJSON = contentTypeHeader("application/json")

// unauthorizedRequests are requests with an invalid credential or without permission.
var unauthorizedRequests = []badRequest{
	{"no credential", func(s *apiClients) apiClient { return s.anonymous }, "GET", pods, nil, "", 403, []string{`"system:anonymous" cannot list resource "pods"`, `namespace "default"`}},
	{"no credential, metrics", func(s *apiClients) apiClient { return s.anonymous }, "GET", "/metrics", nil, "", 403, []string{"system:anonymous", `"/metrics"`}},
	{"forged token", func(s *apiClients) apiClient { return s.forged }, "GET", pods, nil, "", 401, []string{"Unauthorized"}},
	{"unsigned token", func(s *apiClients) apiClient { return s.unsigned }, "GET", pods, nil, "", 401, []string{"Unauthorized"}},
	{"token for another audience", func(s *apiClients) apiClient { return s.otherAudience }, "GET", pods, nil, "", 401, []string{"Unauthorized"}},
	{"garbage token", func(s *apiClients) apiClient { c := s.anonymous; c.token = "Bearer x.y.z"; return c }, "GET", pods, nil, "", 401, []string{"Unauthorized"}},
	{"bad credential, health", func(s *apiClients) apiClient { c := s.anonymous; c.token = "Bearer x"; return c }, "GET", "/livez", nil, "", 401, []string{"Unauthorized"}},
	{"expired certificate", func(s *apiClients) apiClient { return s.expired }, "GET", pods, nil, "", 401, []string{"Unauthorized"}},
	{"certificate of another authority", func(s *apiClients) apiClient { return s.otherCA }, "GET", pods, nil, "", 401, []string{"Unauthorized"}},
	{"wrong role writes", func(s *apiClients) apiClient { return s.viewer }, "POST", pods, asJSON, "{}", 403, []string{`"system:serviceaccount:default:viewer" cannot create resource "pods"`, `namespace "default"`}},
	{"wrong role reads a secret", func(s *apiClients) apiClient { return s.viewer }, "GET", "/api/v1/namespaces/default/secrets/secret-n1", nil, "", 403, []string{`secrets "secret-n1" is forbidden`, `cannot get resource "secrets"`}},
	{"wrong role in another namespace", func(s *apiClients) apiClient { return s.viewer }, "GET", "/api/v1/namespaces/kube-system/pods", nil, "", 403, []string{`namespace "kube-system"`}},
	{"impersonation", func(s *apiClients) apiClient { return s.viewer }, "GET", pods, map[string]string{"Impersonate-User": "root"}, "", 403, []string{`"system:serviceaccount:default:viewer" cannot impersonate`}},
	{"node writes another node", func(s *apiClients) apiClient { return s.node }, "PATCH", "/api/v1/nodes/n2/status", contentTypeHeader("application/merge-patch+json"), `{"status":{"capacity":{"cpu":"99"}}}`, 403, []string{`node "n1"`, `"n2"`}},
	{"node reads a secret of another node", func(s *apiClients) apiClient { return s.node }, "GET", "/api/v1/namespaces/default/secrets/secret-n2", nil, "", 403, []string{`secrets "secret-n2" is forbidden`, "no relationship found between node 'n1' and this object"}},
	{"node lists secrets", func(s *apiClients) apiClient { return s.node }, "GET", "/api/v1/namespaces/default/secrets", nil, "", 403, []string{`"system:node:n1"`}},
	{"node deletes a pod of another node", func(s *apiClients) apiClient { return s.node }, "DELETE", pods + "/on-n2", nil, "", 403, []string{`pods "on-n2" is forbidden`, `node "n1"`}},
	{"node untaints itself", func(s *apiClients) apiClient { return s.node }, "PATCH", "/api/v1/nodes/n1", contentTypeHeader("application/merge-patch+json"), `{"spec":{"taints":[]}}`, 403, []string{`node "n1" is not allowed to modify taints`}},
	{"role with more rights than the user", func(s *apiClients) apiClient { return s.roleMaker }, "POST", roles, asJSON, `{"metadata":{"name":"more"},"rules":[{"apiGroups":[""],"resources":["secrets"],"verbs":["get"]}]}`, 403, []string{"attempting to grant RBAC permissions not currently held", "secrets", "get"}},
	{"binding with more rights than the user", func(s *apiClients) apiClient { return s.roleMaker }, "POST", bindings, asJSON, `{"metadata":{"name":"more"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"cluster-admin"},"subjects":[{"kind":"ServiceAccount","name":"role-maker","namespace":"default"}]}`, 403, []string{"attempting to grant RBAC permissions not currently held"}},
}

// invalidQueries are requests with invalid paths and parameters.
var invalidQueries = []badRequest{
	{"watch with an invalid version", nil, "GET", pods + "?watch=1&resourceVersion=abc", nil, "", 400, []string{`"abc"`, "resourceVersion"}},
	{"future resource version", nil, "GET", pods + "?resourceVersion=999999999999", nil, "", 504, []string{"Too large resource version: 999999999999"}},
	{"watch with a non-numeric timeout", nil, "GET", pods + "?watch=1&timeoutSeconds=soon", nil, "", 400, []string{`"soon"`}},
	{"non-numeric list limit", nil, "GET", pods + "?limit=many", nil, "", 400, []string{`"many"`}},
	{"malformed continue token", nil, "GET", pods + "?limit=1&continue=garbage", nil, "", 400, []string{"continue key is not valid"}},
	{"match without version", nil, "GET", pods + "?resourceVersionMatch=Exact", nil, "", 422, []string{"resourceVersionMatch", "Forbidden", "unless resourceVersion is provided"}},
	{"unknown match", nil, "GET", pods + "?resourceVersion=1&resourceVersionMatch=Roughly", nil, "", 422, []string{"resourceVersionMatch", `"Roughly"`, `"Exact"`}},
	{"initial events without watch", nil, "GET", pods + "?sendInitialEvents=true", nil, "", 422, []string{"sendInitialEvents", "Forbidden"}},
	{"field selector, unknown field", nil, "GET", pods + "?fieldSelector=spec.color%3Dred", nil, "", 400, []string{"field label not supported: spec.color"}},
	{"field selector, no operator", nil, "GET", pods + "?fieldSelector=color", nil, "", 400, []string{"'color'", "invalid"}},
	{"label selector", nil, "GET", pods + "?labelSelector=a+in+(b", nil, "", 400, []string{"unable to parse requirement", "',' or ')'"}},
	{"non-numeric timeout", nil, "GET", pods + "?timeout=soon", nil, "", 400, []string{"timeout", "soon"}},
	{"unknown dry run", nil, "POST", configMaps + "?dryRun=Some", asJSON, `{"metadata":{"name":"x"}}`, 422, []string{"dryRun", `"Some"`, `"All"`}},
	{"unknown field validation", nil, "POST", configMaps + "?fieldValidation=Loose", asJSON, `{"metadata":{"name":"x"}}`, 422, []string{"fieldValidation", `"Loose"`, `"Strict"`}},
	{"field manager too long", nil, "POST", configMaps + "?fieldManager=" + strings.Repeat("m", 200), asJSON, `{"metadata":{"name":"x"}}`, 422, []string{"fieldManager", "128"}},
	{"unknown subresource", nil, "GET", pods + "/on-n1/unknown", nil, "", 404, []string{"could not find the requested resource"}},
	{"unknown resource", nil, "GET", "/api/v1/namespaces/default/unknowns", nil, "", 404, []string{"could not find the requested resource"}},
	{"unknown group", nil, "GET", "/apis/unknown.example.com/v1/unknowns", nil, "", 404, []string{"404"}},
	{"no such object", nil, "GET", pods + "/missing", nil, "", 404, []string{`pods "missing" not found`}},
	{"wrong method on a collection", nil, "PUT", pods, asJSON, "{}", 405, []string{"does not allow this method"}},
	{"wrong method on an object", nil, "POST", existing, asJSON, "{}", 405, []string{"does not allow this method"}},
	{"unknown method", nil, "BREW", pods, nil, "", 405, nil},
	{"path traversal", nil, "GET", configMaps + "/..%2f..%2f..%2fnodes", nil, "", 404, nil},
	{"URL too long", nil, "GET", pods + "?labelSelector=" + strings.Repeat("a", 2<<20), nil, "", 431, nil},
	{"unknown media type", nil, "GET", pods, map[string]string{"Accept": "application/x-berth"}, "", 406, []string{"application/json", "application/vnd.kubernetes.protobuf"}},
}

// invalidBodies are objects and patches that cannot be read or must not be stored.
var invalidBodies = []badRequest{
	{"3 MiB", nil, "POST", configMaps, asJSON, `{"metadata":{"name":"big"},"data":{"a":"` + strings.Repeat("x", 3<<20) + `"}}`, 413, []string{"limit is 3145728"}},
	{"garbage JSON", nil, "POST", configMaps, asJSON, "\x00\xff{{{", 400, []string{"invalid character"}},
	{"garbage YAML", nil, "POST", configMaps, contentTypeHeader("application/yaml"), "a: [\x01", 400, []string{"yaml"}},
	{"garbage protobuf", nil, "POST", configMaps, contentTypeHeader("application/vnd.kubernetes.protobuf"), "k8s\x00\xff\xff\xff\xff", 400, nil},
	{"protobuf without its prefix", nil, "POST", configMaps, contentTypeHeader("application/vnd.kubernetes.protobuf"), "nonsense", 400, []string{"protobuf"}},
	{"malformed JSON patch", nil, "PATCH", existing, contentTypeHeader("application/json-patch+json"), "{]", 400, nil},
	{"malformed merge patch", nil, "PATCH", existing, contentTypeHeader("application/merge-patch+json"), "{]", 400, nil},
	{"malformed strategic patch", nil, "PATCH", existing, contentTypeHeader("application/strategic-merge-patch+json"), "{]", 400, nil},
	{"malformed apply patch", nil, "PATCH", existing + "?fieldManager=me", contentTypeHeader("application/apply-patch+yaml"), "a: [", 400, []string{"yaml"}},
	{"JSON patch of a missing field", nil, "PATCH", existing, contentTypeHeader("application/json-patch+json"), `[{"op":"replace","path":"/data/b/c","value":"d"}]`, 422, []string{"due to an error in our request"}},
	{"JSON patch whose test fails", nil, "PATCH", existing, contentTypeHeader("application/json-patch+json"), `[{"op":"test","path":"/data/a","value":"z"}]`, 422, []string{"due to an error in our request"}},
	{"apply without a manager", nil, "PATCH", existing, contentTypeHeader("application/apply-patch+yaml"), `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"existing"}}`, 422, []string{"fieldManager", "Required value"}},
	{"wrong content type", nil, "POST", configMaps, contentTypeHeader("text/plain"), "{}", 415, []string{"accepted media types include: application/json"}},
	{"wrong patch type", nil, "PATCH", existing, asJSON, "{}", 415, []string{"Unsupported Media Type"}},
	{"deep nesting", nil, "POST", configMaps, asJSON, `{"data":` + strings.Repeat(`{"a":`, 20000) + "1" + strings.Repeat("}", 20000) + "}", 400, []string{"depth"}},
	{"duplicate field, strict", nil, "POST", configMaps + "?fieldValidation=Strict", asJSON, `{"metadata":{"name":"x","name":"y"}}`, 400, []string{`duplicate field "metadata.name"`}},
	{"unknown field, strict", nil, "POST", configMaps + "?fieldValidation=Strict", asJSON, `{"metadata":{"name":"x"},"color":"red"}`, 400, []string{`unknown field "color"`}},
	{"another kind", nil, "POST", configMaps, asJSON, `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"x"}}`, 400, []string{"Secret", "ConfigMap"}},
	{"wrong namespace in the body", nil, "POST", configMaps, asJSON, `{"metadata":{"name":"x","namespace":"kube-system"}}`, 400, []string{"namespace of the provided object does not match the namespace sent on the request"}},
	{"wrong name in the body", nil, "PUT", existing, asJSON, `{"metadata":{"name":"other"}}`, 400, []string{"(other)", "(existing)"}},
	{"no name", nil, "POST", configMaps, asJSON, `{"metadata":{}}`, 422, []string{"name or generateName is required"}},
	{"invalid name", nil, "POST", configMaps, asJSON, `{"metadata":{"name":"../etc"}}`, 422, []string{"metadata.name", `"../etc"`, "RFC 1123"}},
	{"missing namespace", nil, "POST", "/api/v1/namespaces/missing/configmaps", asJSON, `{"metadata":{"name":"x"}}`, 404, []string{`namespaces "missing" not found`}},
	{"another object's uid", nil, "DELETE", existing, asJSON, `{"preconditions":{"uid":"00000000-0000-0000-0000-000000000000"}}`, 409, []string{`ConfigMap "existing"`, "UID in the precondition (00000000-0000-0000-0000-000000000000) does not match"}},
	{"non-numeric resource version", nil, "PUT", existing, asJSON, `{"metadata":{"name":"existing","resourceVersion":"abc"}}`, 422, []string{"resourceVersion", `"abc"`}},
	{"outdated resource version", nil, "PUT", existing, asJSON, `{"metadata":{"name":"existing","resourceVersion":"1"}}`, 409, []string{`configmaps "existing"`, "modified"}},
	{"unknown propagation", nil, "DELETE", existing + "?propagationPolicy=Sideways", nil, "", 422, []string{"propagationPolicy", `"Sideways"`, `"Orphan"`}},
	{"empty pod", nil, "POST", pods, asJSON, `{"metadata":{"name":"x"},"spec":{}}`, 422, []string{"spec.containers: Required value"}},
	{"pod with negative requests", nil, "POST", pods, asJSON, `{"metadata":{"name":"x"},"spec":{"containers":[{"name":"c","image":"x","resources":{"requests":{"cpu":"-1"}}}]}}`, 422, []string{"spec.containers[0].resources.requests[cpu]", `"-1"`, "greater than or equal to 0"}},
	{"pod with a non-numeric port", nil, "POST", pods, asJSON, `{"metadata":{"name":"x"},"spec":{"containers":[{"name":"c","image":"x","ports":[{"containerPort":"http"}]}]}}`, 400, []string{"containerPort"}},
	{"bound twice", nil, "POST", pods + "/on-n1/binding", asJSON, `{"metadata":{"name":"on-n1"},"target":{"kind":"Node","name":"n2"}}`, 409, []string{"on-n1", `already assigned to node "n1"`}},
	{"moved by update", nil, "PATCH", pods + "/on-n1", contentTypeHeader("application/merge-patch+json"), `{"spec":{"nodeName":"n2"}}`, 422, []string{"spec: Forbidden: pod updates may not change fields other than"}},
}

// TestBadRequests checks that the server rejects each of these requests, which conformance/api does not contain. The
// response has the right code and a message that names the error, and the server continues to run.
func TestBadRequests(t *testing.T) {
	t.Parallel()
	h := newTestHome(t)
	c := h.server()
	s := newAPIClients(t, c)
	for _, b := range slices.Concat(unauthorizedRequests, invalidQueries, invalidBodies) {
		t.Run(b.name, func(t *testing.T) {
			as := s.admin
			if b.as != nil {
				as = b.as(s)
			}
			got, err := as.call(t.Context(), b.method, b.path, b.header, b.body)
			if err != nil {
				t.Fatal(err)
			}
			if got.code != b.code {
				t.Errorf("code %d, want %d: %s", got.code, b.code, truncate(got.message))
			}
			for _, w := range b.words {
				if !strings.Contains(got.message, w) {
					t.Errorf("got message %s, want text with %q", truncate(got.message), w)
				}
			}
			checkServerResponds(t, s.anonymous)
		})
	}
	// The rejected requests have not changed any object.
	got, err := s.admin.call(t.Context(), http.MethodGet, existing, nil, "")
	if err != nil || !strings.Contains(got.message, `"data":{"a":"b"}`) {
		t.Errorf("ConfigMap existing: got %s, error %v, want it unchanged", got.message, err)
	}
	if list := c.mustKubectl("get", "configmaps", "-o", "name"); strings.Contains(list, "configmap/x") || strings.Contains(list, "configmap/big") {
		t.Errorf("got ConfigMaps %s, want none of a rejected request", list)
	}
}

func truncate(s string) string {
	if len(s) > 600 {
		return s[:600] + "..."
	}
	return s
}
