package apiserver

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/berthproject/berth/apiserver/validation/policy"
)

var systemNamespaces = []string{metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic, corev1.NamespaceNodeLease}

// createSystemObjects creates the system namespaces, priority classes and the kubernetes Service if
// they are missing. It does not change existing namespaces and classes, but updates the target port of
// an existing Service.
func createSystemObjects(ctx context.Context, client kubernetes.Interface, serviceIP string, port int) error {
	for _, name := range systemNamespaces {
		_, err := client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating namespace %s: %w", name, err)
		}
	}
	for _, class := range policy.SystemPriorityClasses() {
		_, err := client.SchedulingV1().PriorityClasses().Create(ctx, class, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating priority class %s: %w", class.Name, err)
		}
	}
	err := updateKubernetesService(ctx, client, serviceIP, port)
	if apierrors.IsInvalid(err) {
		klog.ErrorS(err, "Failed to reconcile the Service default/kubernetes; retrying", "interval", kubernetesServiceInterval)
		return nil
	}
	return err
}

// kubernetesServiceInterval is the interval at which the server reconciles the kubernetes Service, its endpoints and
// the default ServiceCIDR.
const kubernetesServiceInterval = 10 * time.Second

// runKubernetesServiceController recreates a deleted kubernetes Service until ctx is done. It does
// not update the target port: API servers that share an etcd may listen on different ports and
// would overwrite each other.
func runKubernetesServiceController(ctx context.Context, client kubernetes.Interface, ip string, port int) {
	_ = wait.PollUntilContextCancel(ctx, kubernetesServiceInterval, false, func(ctx context.Context) (bool, error) {
		if _, err := ensureKubernetesService(ctx, client, ip, port); err != nil && ctx.Err() == nil {
			klog.ErrorS(err, "Failed to reconcile the Service default/kubernetes; retrying", "interval", kubernetesServiceInterval)
		}
		return false, nil
	})
}

// updateKubernetesService creates the kubernetes Service or updates its target port to the port of
// this server.
func updateKubernetesService(ctx context.Context, client kubernetes.Interface, ip string, port int) error {
	existing, err := ensureKubernetesService(ctx, client, ip, port)
	if err != nil {
		return err
	}
	desired := newKubernetesService(ip, port).Spec.Ports
	if len(existing.Spec.Ports) == 1 && existing.Spec.Ports[0].TargetPort == desired[0].TargetPort {
		return nil
	}
	existing = existing.DeepCopy()
	existing.Spec.Ports = desired
	if _, err := client.CoreV1().Services(metav1.NamespaceDefault).Update(ctx, existing, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("updating service default/kubernetes to port %d: %w", port, err)
	}
	return nil
}

// ensureKubernetesService returns the kubernetes Service and creates it if it is missing.
func ensureKubernetesService(ctx context.Context, client kubernetes.Interface, ip string, port int) (*corev1.Service, error) {
	services := client.CoreV1().Services(metav1.NamespaceDefault)
	desired := newKubernetesService(ip, port)
	existing, err := services.Get(ctx, desired.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		existing, err = services.Create(ctx, desired, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return nil, fmt.Errorf("creating service default/kubernetes: %w", err)
		}
	}
	if apierrors.IsAlreadyExists(err) { // another server created it first
		existing, err = services.Get(ctx, desired.Name, metav1.GetOptions{})
	}
	if err != nil {
		return nil, fmt.Errorf("reading service default/kubernetes: %w", err)
	}
	return existing, nil
}

// newKubernetesService returns the Service default/kubernetes. port is the port that the server
// listens on.
func newKubernetesService(ip string, port int) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Name:   "kubernetes",
			Labels: map[string]string{"component": "apiserver", "provider": "kubernetes"},
		},
		Spec: corev1.ServiceSpec{
			ClusterIP:       ip,
			SessionAffinity: corev1.ServiceAffinityNone,
			Type:            corev1.ServiceTypeClusterIP,
			Ports: []corev1.ServicePort{{
				Name: "https", Port: 443, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromInt32(int32(port)),
			}},
		},
	}
}
