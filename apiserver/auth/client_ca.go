package auth

import (
	"context"
	"fmt"
	"maps"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/apiserver/auth/pki"
	"github.com/berthproject/berth/apiserver/auth/rbac/policy"
)

const clientCAKey = "client-ca-file"

// delegatedAuthentication returns the data with which other servers authenticate requests. It has
// the CA of client certificates, and the CA and headers of requests that this server forwards.
func (s *Security) delegatedAuthentication() (map[string]string, error) {
	clientCA, err := os.ReadFile(s.options.ClientCAFile)
	if err != nil {
		return nil, err
	}
	proxy, err := s.options.CA.FrontProxy()
	if err != nil {
		return nil, err
	}
	proxyCA, err := os.ReadFile(proxy.CAFile)
	if err != nil {
		return nil, err
	}
	return map[string]string{
		clientCAKey:                          string(clientCA),
		"requestheader-client-ca-file":       string(proxyCA),
		"requestheader-allowed-names":        `["` + pki.FrontProxyUser + `"]`,
		"requestheader-username-headers":     `["` + userHeader + `"]`,
		"requestheader-uid-headers":          `["` + uidHeader + `"]`,
		"requestheader-group-headers":        `["` + groupHeader + `"]`,
		"requestheader-extra-headers-prefix": `["` + extraHeaderPrefix + `"]`,
	}, nil
}

// publishAuthentication writes delegatedAuthentication to the ConfigMap that other servers read,
// for example kube-scheduler and aggregated API servers.
func (s *Security) publishAuthentication(ctx context.Context) error {
	desired, err := s.delegatedAuthentication()
	if err != nil {
		return err
	}
	configMaps := s.options.Client.CoreV1().ConfigMaps(metav1.NamespaceSystem)
	existing, err := configMaps.Get(ctx, policy.AuthenticationConfigMap, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		existing, err = configMaps.Create(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: policy.AuthenticationConfigMap, Namespace: metav1.NamespaceSystem},
			Data:       desired,
		}, metav1.CreateOptions{})
	}
	if apierrors.IsAlreadyExists(err) { // another server created it at the same time
		existing, err = configMaps.Get(ctx, policy.AuthenticationConfigMap, metav1.GetOptions{})
	}
	if err == nil && !maps.Equal(existing.Data, desired) {
		if existing.Data[clientCAKey] != desired[clientCAKey] && existing.Data[clientCAKey] != "" {
			klog.ErrorS(nil, "The store has the client CA of another certificate authority: credentials that one server has signed are invalid for the other. "+
				"API servers that share an etcd need the same pki directory: copy it before the first start", "configmap", policy.AuthenticationConfigMap)
		}
		existing = existing.DeepCopy()
		existing.Data = desired
		_, err = configMaps.Update(ctx, existing, metav1.UpdateOptions{})
	}
	if err != nil {
		return fmt.Errorf("writing the client CA to configmap %s/%s: %w", metav1.NamespaceSystem, policy.AuthenticationConfigMap, err)
	}
	return nil
}

// waitForSync blocks until the informers of the authorizers have synced.
func (s *Security) waitForSync(ctx context.Context) error {
	err := wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(context.Context) (bool, error) {
		return s.resolver.Synced() && s.graph.Synced(), nil
	})
	if err != nil {
		return fmt.Errorf("waiting for informers of roles, bindings and pods to sync: %w", err)
	}
	return nil
}
