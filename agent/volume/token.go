package volume

import (
	"context"
	"fmt"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// maxTokenAge is the age at which the kubelet renews a token, regardless of its lifetime.
const maxTokenAge = 24 * time.Hour

// tokenSource identifies a source of a projected volume.
type tokenSource struct {
	volume string
	index  int
}

// tokenCache holds the service account tokens of a pod.
type tokenCache struct {
	mu     sync.Mutex
	cached map[tokenSource]token
}

// token is a token of a service account.
type token struct {
	value string
	// renew is a wall-clock time: the monotonic clock stops while the machine is suspended.
	renew time.Time
}

// get returns the token of a source. It requests a new one after 80 % of the lifetime or 24 hours,
// whichever is sooner.
func (t *tokenCache) get(ctx context.Context, client kubernetes.Interface, pod *corev1.Pod, s tokenSource,
	projection *corev1.ServiceAccountTokenProjection, now time.Time) (string, error) {
	t.mu.Lock()
	cached, ok := t.cached[s]
	t.mu.Unlock()
	if ok && now.Before(cached.renew) {
		return cached.value, nil
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: projection.ExpirationSeconds,
		BoundObjectRef:    &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID},
	}}
	if projection.Audience != "" {
		request.Spec.Audiences = []string{projection.Audience}
	}
	account := pod.Spec.ServiceAccountName
	response, err := client.CoreV1().ServiceAccounts(pod.Namespace).CreateToken(ctx, account, request, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("failed to fetch token: %w", err)
	}
	cached = token{value: response.Status.Token, renew: now.Round(0).Add(min(response.Status.ExpirationTimestamp.Sub(now)*8/10, maxTokenAge))}
	t.mu.Lock()
	t.cached[s] = cached
	t.mu.Unlock()
	return cached.value, nil
}
