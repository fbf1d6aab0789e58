package apiserver

import (
	"cmp"
	"context"
	"fmt"
	"hash"
	"hash/fnv"
	"slices"
	"strconv"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/openapi"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// policySchemas is the OpenAPI client of mutating admission policies, which request the list of
// schemas every five seconds. The list in /openapi/v3 lags behind the definitions by seconds. This client
// derives the list from the APIServices and CustomResourceDefinitions, and fetches only the documents that
// a policy needs.
type policySchemas struct {
	client rest.Interface
	// chain is set before assembled is closed.
	chain     *chain
	assembled chan struct{}
	stop      <-chan struct{}
}

var _ openapi.Client = &policySchemas{}

// setChain sets the servers that have the schemas.
func (p *policySchemas) setChain(c *chain) {
	p.chain = c
	close(p.assembled)
}

// Paths implements openapi.Client. The first call blocks until the groups are registered, because the caller waits five
// seconds between calls.
func (p *policySchemas) Paths() (map[string]openapi.GroupVersion, error) {
	paths := map[string]openapi.GroupVersion{}
	select {
	case <-p.assembled:
	case <-p.stop:
		return paths, nil
	}
	c := p.chain
	if !cache.WaitForCacheSync(p.stop, c.registered) {
		return paths, nil
	}
	services, err := c.aggregator.APIRegistrationInformers.Apiregistration().V1().APIServices().Lister().List(labels.Everything())
	if err != nil {
		return nil, err
	}
	definitions, err := c.extensions.Informers.Apiextensions().V1().CustomResourceDefinitions().Lister().List(labels.Everything())
	if err != nil {
		return nil, err
	}
	revisions := groupRevisions(definitions)
	for _, service := range services {
		path := "apis/" + service.Spec.Group + "/" + service.Spec.Version
		if service.Spec.Group == "" {
			path = "api/" + service.Spec.Version
		}
		paths[path] = &policySchema{schemas: p, path: "/openapi/v3/" + path, revision: service.ResourceVersion + "-" + revisions[service.Spec.Group]}
	}
	return paths, nil
}

// groupRevisions returns, for each group, a hash of the names and resource versions of its definitions.
func groupRevisions(definitions []*apiextensionsv1.CustomResourceDefinition) map[string]string {
	sorted := slices.SortedFunc(slices.Values(definitions), func(a, b *apiextensionsv1.CustomResourceDefinition) int { return cmp.Compare(a.Name, b.Name) })
	hashes := map[string]hash.Hash64{}
	for _, d := range sorted {
		h, found := hashes[d.Spec.Group]
		if !found {
			h = fnv.New64a()
			hashes[d.Spec.Group] = h
		}
		_, _ = fmt.Fprintln(h, d.Name, d.ResourceVersion)
	}
	revisions := map[string]string{}
	for group, h := range hashes {
		revisions[group] = strconv.FormatUint(h.Sum64(), 16)
	}
	return revisions
}

// policySchema is the OpenAPI document of a group and version.
type policySchema struct {
	schemas        *policySchemas
	path, revision string
}

// Schema implements openapi.GroupVersion.
func (s *policySchema) Schema(contentType string) ([]byte, error) {
	return s.schemas.client.Get().AbsPath(s.path).SetHeader("Accept", contentType).Do(context.Background()).Raw()
}

// ServerRelativeURL implements openapi.GroupVersion. It changes when the document may change.
func (s *policySchema) ServerRelativeURL() string { return s.path + "?revision=" + s.revision }

// policyClient is a client whose OpenAPI client is schemas.
type policyClient struct {
	kubernetes.Interface
	schemas *policySchemas
}

// Discovery returns a discovery client with the OpenAPI client of policies.
func (c policyClient) Discovery() discovery.DiscoveryInterfaces {
	return policyDiscovery{c.Interface.Discovery(), c.schemas}
}

type policyDiscovery struct {
	discovery.DiscoveryInterfaces
	schemas *policySchemas
}

// OpenAPIV3 returns the OpenAPI client of policies.
func (d policyDiscovery) OpenAPIV3() openapi.Client { return d.schemas }

// reviewResources are not stored. Policies do not apply to them: a policy could lock out all users.
var reviewResources = []schema.GroupResource{
	{Group: "authentication.k8s.io", Resource: "selfsubjectreviews"},
	{Group: "authentication.k8s.io", Resource: "tokenreviews"},
	{Group: "authorization.k8s.io", Resource: "localsubjectaccessreviews"},
	{Group: "authorization.k8s.io", Resource: "selfsubjectaccessreviews"},
	{Group: "authorization.k8s.io", Resource: "selfsubjectrulesreviews"},
	{Group: "authorization.k8s.io", Resource: "subjectaccessreviews"},
}
