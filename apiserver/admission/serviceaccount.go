package admission

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/initializer"
	"k8s.io/apiserver/pkg/storage/names"
	"k8s.io/client-go/informers"
	corelisters "k8s.io/client-go/listers/core/v1"
)

const (
	defaultAccount    = "default"
	tokenVolumePrefix = "kube-api-access-"
	tokenPath         = "/var/run/secrets/kubernetes.io/serviceaccount"
	// tokenSeconds is one hour and seven seconds. As in Kubernetes, the odd value marks automatically
	// mounted tokens.
	tokenSeconds    = 3607
	tokenMode       = int32(0o644)
	rootCAConfigMap = "kube-root-ca.crt"
	// accountAttempts bounds the wait for the default account of a new namespace.
	accountAttempts      = 10
	accountRetryInterval = 100 * time.Millisecond
)

// serviceAccount checks that the service account of a pod exists and mounts its token.
type serviceAccount struct {
	*admission.Handler
	kubeClient
	cache  cacheTracker
	lister corelisters.ServiceAccountLister
}

var (
	_ admission.MutationInterface                  = &serviceAccount{}
	_ admission.ValidationInterface                = &serviceAccount{}
	_ initializer.WantsExternalKubeInformerFactory = &serviceAccount{}
	_ initializer.WantsExternalKubeClientSet       = &serviceAccount{}
)

func newServiceAccount() *serviceAccount {
	return &serviceAccount{Handler: admission.NewHandler(admission.Create, admission.Update, admission.Delete)}
}

// SetExternalKubeInformerFactory implements initializer.WantsExternalKubeInformerFactory.
func (s *serviceAccount) SetExternalKubeInformerFactory(f informers.SharedInformerFactory) {
	informer := f.Core().V1().ServiceAccounts()
	s.lister, s.cache.hasSynced = informer.Lister(), informer.Informer().HasSynced
}

// Admit sets the service account, mounts its token and copies its image pull secrets. Mirror pods
// have no service account.
func (s *serviceAccount) Admit(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	pod, ok := a.GetObject().(*corev1.Pod)
	if !ok || !isForResource(a, corev1.Resource("pods")) || a.GetOperation() != admission.Create {
		return nil
	}
	if isMirrorPod(pod) {
		return s.Validate(ctx, a, o)
	}
	if pod.Spec.ServiceAccountName == "" {
		pod.Spec.ServiceAccountName = defaultAccount
	}
	// Keep the deprecated field in sync.
	pod.Spec.DeprecatedServiceAccount = pod.Spec.ServiceAccountName
	account, err := s.get(ctx, a.GetNamespace(), pod.Spec.ServiceAccountName)
	if err != nil {
		return admission.NewForbidden(a, fmt.Errorf("error looking up service account %s/%s: %w", a.GetNamespace(), pod.Spec.ServiceAccountName, err))
	}
	if shouldAutomount(account, pod) {
		mountToken(pod)
	}
	if len(pod.Spec.ImagePullSecrets) == 0 {
		pod.Spec.ImagePullSecrets = append(pod.Spec.ImagePullSecrets, account.ImagePullSecrets...)
	}
	return nil
}

// Validate checks that the account exists and that mirror pods do not use one. It records changes
// of accounts. New accounts need no record: get reads an account that is not in the cache from the
// API server.
func (s *serviceAccount) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if isForResource(a, corev1.Resource("serviceaccounts")) && a.GetOperation() != admission.Create {
		s.cache.recordWrite(a.GetNamespace())
	}
	pod, ok := a.GetObject().(*corev1.Pod)
	if !ok || !isForResource(a, corev1.Resource("pods")) || a.GetOperation() != admission.Create {
		return nil
	}
	if isMirrorPod(pod) {
		return validateMirrorPod(a, pod)
	}
	if _, err := s.get(ctx, a.GetNamespace(), pod.Spec.ServiceAccountName); err != nil {
		return admission.NewForbidden(a, fmt.Errorf("error looking up service account %s/%s: %w", a.GetNamespace(), pod.Spec.ServiceAccountName, err))
	}
	return nil
}

func isMirrorPod(pod *corev1.Pod) bool {
	_, ok := pod.Annotations[corev1.MirrorPodAnnotationKey]
	return ok
}

func validateMirrorPod(a admission.Attributes, pod *corev1.Pod) error {
	if pod.Spec.ServiceAccountName != "" {
		return admission.NewForbidden(a, errors.New("a mirror pod may not reference service accounts"))
	}
	for _, v := range pod.Spec.Volumes {
		if v.Secret != nil {
			return admission.NewForbidden(a, errors.New("a mirror pod may not reference secrets"))
		}
		if v.Projected == nil {
			continue
		}
		for _, source := range v.Projected.Sources {
			if source.ServiceAccountToken != nil {
				return admission.NewForbidden(a, errors.New("a mirror pod may not use ServiceAccountToken volume projections"))
			}
		}
	}
	return nil
}

// get returns the account. For the default account it retries for about a second, because a
// controller creates it after the namespace.
func (s *serviceAccount) get(ctx context.Context, namespace, name string) (*corev1.ServiceAccount, error) {
	attempts := 1
	if name == defaultAccount {
		attempts = accountAttempts
	}
	for i := range attempts {
		if i > 0 {
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(accountRetryInterval):
			}
		}
		if !s.cache.isStale(namespace) {
			if account, err := s.lister.ServiceAccounts(namespace).Get(name); err == nil {
				return account, nil
			}
		}
		account, err := s.client.CoreV1().ServiceAccounts(namespace).Get(ctx, name, metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			return account, err
		}
	}
	return nil, apierrors.NewNotFound(corev1.Resource("serviceaccounts"), name)
}

// shouldAutomount reports whether to mount the token. The pod's setting takes precedence over the
// account's; the default is true.
func shouldAutomount(account *corev1.ServiceAccount, pod *corev1.Pod) bool {
	if pod.Spec.AutomountServiceAccountToken != nil {
		return *pod.Spec.AutomountServiceAccountToken
	}
	return account.AutomountServiceAccountToken == nil || *account.AutomountServiceAccountToken
}

// mountToken mounts the token into each container that has no mount at its path.
func mountToken(pod *corev1.Pod) {
	name, used := "", map[string]bool{}
	for _, v := range pod.Spec.Volumes {
		used[v.Name] = true
		if name == "" && strings.HasPrefix(v.Name, tokenVolumePrefix) {
			name = v.Name
		}
	}
	exists := name != ""
	for name == "" || (!exists && used[name]) {
		name = names.SimpleNameGenerator.GenerateName(tokenVolumePrefix)
	}
	mount := corev1.VolumeMount{Name: name, ReadOnly: true, MountPath: tokenPath}
	needed := addMount(pod.Spec.InitContainers, mount)
	needed = addMount(pod.Spec.Containers, mount) || needed
	if needed && !exists {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: tokenVolumeSource()})
	}
}

// addMount adds the mount to containers that have no mount at tokenPath, and reports whether it added
// any.
func addMount(containers []corev1.Container, mount corev1.VolumeMount) bool {
	added := false
next:
	for i := range containers {
		for _, m := range containers[i].VolumeMounts {
			if m.MountPath == tokenPath {
				continue next
			}
		}
		containers[i].VolumeMounts = append(containers[i].VolumeMounts, mount)
		added = true
	}
	return added
}

// tokenVolumeSource returns a projected volume with the token, the CA certificate and the
// namespace.
func tokenVolumeSource() corev1.VolumeSource {
	mode, seconds := tokenMode, int64(tokenSeconds)
	return corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
		DefaultMode: &mode,
		Sources: []corev1.VolumeProjection{
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: &seconds}},
			{ConfigMap: &corev1.ConfigMapProjection{
				LocalObjectReference: corev1.LocalObjectReference{Name: rootCAConfigMap},
				Items:                []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}},
			}},
			{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{
				Path: "namespace", FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"},
			}}}},
		},
	}}
}
