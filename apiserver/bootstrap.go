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

	"github.com/berthproject/berth/apiserver/validation"
)

var systemNamespaces = []string{metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic, corev1.NamespaceNodeLease}

// createSystemObjects makes what is missing; what exists is left as it is, whoever made it.
func createSystemObjects(ctx context.Context, client kubernetes.Interface, serviceIP string, port int) error {
	for _, name := range systemNamespaces {
		_, err := client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("making namespace %s: %w", name, err)
		}
	}
	for _, class := range validation.SystemPriorityClasses() {
		_, err := client.SchedulingV1().PriorityClasses().Create(ctx, class, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("making priority class %s: %w", class.Name, err)
		}
	}
	err := updateKubernetesService(ctx, client, serviceIP, port)
	if apierrors.IsInvalid(err) {
		klog.ErrorS(err, "Pods do not find the API server by its Service; it is tried again", "every", kubernetesServiceInterval)
		return nil
	}
	return err
}

// kubernetesServiceInterval is how often the Service of this server is looked after.
const kubernetesServiceInterval = 10 * time.Second

// runKubernetesServiceController makes the Service of this server again when somebody has deleted it, until ctx ends. Where it leads to is
// settled at the start alone: servers of one etcd may listen at different ports, and would never agree.
func runKubernetesServiceController(ctx context.Context, client kubernetes.Interface, ip string, port int) {
	_ = wait.PollUntilContextCancel(ctx, kubernetesServiceInterval, false, func(ctx context.Context) (bool, error) {
		if _, err := ensureKubernetesService(ctx, client, ip, port); err != nil && ctx.Err() == nil {
			klog.ErrorS(err, "Pods do not find the API server by its Service; it is tried again", "every", kubernetesServiceInterval)
		}
		return false, nil
	})
}

// updateKubernetesService makes the Service by which pods find this server, or leads it to where the server listens now.
func updateKubernetesService(ctx context.Context, client kubernetes.Interface, ip string, port int) error {
	have, err := ensureKubernetesService(ctx, client, ip, port)
	if err != nil {
		return err
	}
	want := newKubernetesService(ip, port).Spec.Ports
	if len(have.Spec.Ports) == 1 && have.Spec.Ports[0].TargetPort == want[0].TargetPort {
		return nil
	}
	have = have.DeepCopy()
	have.Spec.Ports = want
	if _, err := client.CoreV1().Services(metav1.NamespaceDefault).Update(ctx, have, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("leading service default/kubernetes to port %d: %w", port, err)
	}
	return nil
}

// ensureKubernetesService makes the Service by which pods find this server if it is not there, and returns it.
func ensureKubernetesService(ctx context.Context, client kubernetes.Interface, ip string, port int) (*corev1.Service, error) {
	services := client.CoreV1().Services(metav1.NamespaceDefault)
	want := newKubernetesService(ip, port)
	have, err := services.Get(ctx, want.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		have, err = services.Create(ctx, want, metav1.CreateOptions{})
	}
	if apierrors.IsAlreadyExists(err) { // another server was faster
		have, err = services.Get(ctx, want.Name, metav1.GetOptions{})
	}
	if err != nil {
		return nil, fmt.Errorf("making service default/kubernetes: %w", err)
	}
	return have, nil
}

// newKubernetesService is how pods find this server; port is where it listens.
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
