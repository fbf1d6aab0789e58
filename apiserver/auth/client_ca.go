package auth

import (
	"context"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/apiserver/auth/rbac/policy"
)

const clientCAKey = "client-ca-file"

// publishClientCA writes the client CA to the ConfigMap that delegated authentication reads, for
// example in kube-scheduler.
func (s *Security) publishClientCA(ctx context.Context) error {
	ca, err := os.ReadFile(s.options.ClientCAFile)
	if err != nil {
		return err
	}
	maps := s.options.Client.CoreV1().ConfigMaps(metav1.NamespaceSystem)
	found, err := maps.Get(ctx, policy.AuthenticationConfigMap, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		_, err = maps.Create(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: policy.AuthenticationConfigMap, Namespace: metav1.NamespaceSystem},
			Data:       map[string]string{clientCAKey: string(ca)},
		}, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) { // another server with the same CA, or one that reports the conflict
			err = nil
		}
	case err == nil && found.Data[clientCAKey] != string(ca):
		if found.Data[clientCAKey] != "" {
			klog.ErrorS(nil, "The store has the client CA of another certificate authority: credentials that one server has signed are invalid for the other. "+
				"API servers that share an etcd need the same pki directory: copy it before the first start", "configmap", policy.AuthenticationConfigMap)
		}
		found = found.DeepCopy()
		if found.Data == nil {
			found.Data = map[string]string{}
		}
		found.Data[clientCAKey] = string(ca)
		_, err = maps.Update(ctx, found, metav1.UpdateOptions{})
	}
	if err != nil {
		return fmt.Errorf("writing the client CA to configmap %s/%s: %w", metav1.NamespaceSystem, policy.AuthenticationConfigMap, err)
	}
	return nil
}

// waitForSync waits for the informers of the authorizers.
func (s *Security) waitForSync(ctx context.Context) error {
	err := wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(context.Context) (bool, error) {
		return s.resolver.Synced() && s.graph.Synced(), nil
	})
	if err != nil {
		return fmt.Errorf("waiting for informers of roles, bindings and pods to sync: %w", err)
	}
	return nil
}
