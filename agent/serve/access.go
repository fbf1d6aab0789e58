package serve

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/kubernetes"
)

const (
	// askWithin bounds a question to the API server.
	askWithin = 10 * time.Second
	// Answers are believed for a while, as a kubelet does; a refusal only for a moment.
	tokenFor, allowedFor, refusedFor = 2 * time.Minute, 5 * time.Minute, 5 * time.Second
	rememberedAnswers                = 1000
)

// credentials says who a request is from: by certificate, or by token.
func credentials(o Options) (authenticator.Request, error) {
	config := authenticatorfactory.DelegatingAuthenticatorConfig{
		TokenAccessReviewClient: o.Client.AuthenticationV1(), TokenAccessReviewTimeout: askWithin, CacheTTL: tokenFor,
		WebhookRetryBackoff: &wait.Backoff{Duration: 200 * time.Millisecond, Factor: 1.5, Jitter: 0.2, Steps: 3},
	}
	if len(o.ClientCA) > 0 {
		ca, err := dynamiccertificates.NewStaticCAContent("client-ca", o.ClientCA)
		if err != nil {
			return nil, fmt.Errorf("agent/serve: the authority of client certificates: %w", err)
		}
		config.ClientCertificateCAContentProvider = ca
	}
	who, _, err := config.New()
	return who, err
}

// right is a verb on a subresource of a node.
type right struct{ verb, subresource, node string }

// rightsFor are those of which one is needed.
func rightsFor(r *http.Request, path string, n *Node) []right {
	verb := map[string]string{http.MethodGet: "get", http.MethodHead: "get", http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete"}[r.Method]
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	proxy := right{verb, "proxy", n.Name}
	switch first {
	case "stats", "metrics":
		return []right{{verb, first, n.Name}}
	case "containerLogs", "exec", "attach", "portForward":
		if first != "containerLogs" {
			proxy.verb = "create"
		}
		return []right{proxy}
	case "pods", "healthz":
		return []right{{verb, first, n.Name}, proxy}
	}
	return []right{proxy}
}

// reviews asks the API server who may do what, and remembers the answers.
type reviews struct {
	client kubernetes.Interface
	known  *cache.LRUExpireCache
}

func newReviews(client kubernetes.Interface) *reviews {
	return &reviews{client: client, known: cache.NewLRUExpireCache(rememberedAnswers)}
}

// allow says whether somebody has one of the rights.
func (v *reviews) allow(ctx context.Context, somebody user.Info, any []right) (bool, error) {
	for _, r := range any {
		if yes, err := v.has(ctx, somebody, r); yes || err != nil {
			return yes, err
		}
	}
	return false, nil
}

func (v *reviews) has(ctx context.Context, somebody user.Info, r right) (bool, error) {
	key := fmt.Sprintf("%q %q %q %q %v", somebody.GetName(), somebody.GetUID(), somebody.GetGroups(), somebody.GetExtra(), r)
	if known, ok := v.known.Get(key); ok {
		return known.(bool), nil
	}
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	extra := map[string]authorizationv1.ExtraValue{}
	for k, values := range somebody.GetExtra() {
		extra[k] = values
	}
	answer, err := v.client.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User: somebody.GetName(), UID: somebody.GetUID(), Groups: somebody.GetGroups(), Extra: extra,
			ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: r.verb, Version: "v1", Resource: "nodes", Subresource: r.subresource, Name: r.node},
		}}, metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	ttl := refusedFor
	if answer.Status.Allowed {
		ttl = allowedFor
	}
	v.known.Add(key, answer.Status.Allowed, ttl)
	return answer.Status.Allowed, nil
}
