package pods

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	listers "k8s.io/client-go/listers/core/v1"
)

// services provides the cluster's services for environment variables.
type services struct {
	lister listers.ServiceLister // nil without an API server
	synced func() bool
}

// start runs the informer until ctx ends.
func (s *services) start(ctx context.Context, client kubernetes.Interface, workers *sync.WaitGroup) {
	if client == nil {
		return
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	informer := factory.Core().V1().Services()
	s.lister, s.synced = informer.Lister(), informer.Informer().HasSynced
	factory.Start(ctx.Done())
	workers.Go(func() { <-ctx.Done(); factory.Shutdown() })
}

// kubernetesService is the API server's service, whose variables pods of all namespaces get.
const kubernetesService = "kubernetes"

// envVars returns the variables of the services in the pod's namespace and of the API server's
// service.
func (s *services) envVars(pod *corev1.Pod) (map[string]string, error) {
	if s.lister == nil {
		return nil, nil
	}
	if _, static := pod.Annotations[corev1.MirrorPodAnnotationKey]; !s.synced() && !static { // static pods start without the API server
		return nil, errors.New("services have not yet been read at least once, cannot construct envvars")
	}
	out := map[string]string{}
	if k, err := s.lister.Services(corev1.NamespaceDefault).Get(kubernetesService); err == nil {
		addServiceEnvVars(k, out)
	}
	if pod.Spec.EnableServiceLinks != nil && !*pod.Spec.EnableServiceLinks {
		return out, nil
	}
	list, err := s.lister.Services(pod.Namespace).List(labels.Everything())
	if err != nil {
		return nil, err
	}
	for _, svc := range list {
		addServiceEnvVars(svc, out)
	}
	return out, nil
}

// addServiceEnvVars adds the variables of one service, in the format of Docker links.
func addServiceEnvVars(s *corev1.Service, out map[string]string) {
	ip := s.Spec.ClusterIP
	if ip == "" || ip == corev1.ClusterIPNone || len(s.Spec.Ports) == 0 {
		return
	}
	name := envVarName(s.Name)
	out[name+"_SERVICE_HOST"] = ip
	out[name+"_SERVICE_PORT"] = strconv.Itoa(int(s.Spec.Ports[0].Port))
	for i, p := range s.Spec.Ports {
		number := strconv.Itoa(int(p.Port))
		protocol := string(p.Protocol)
		if protocol == "" {
			protocol = "TCP"
		}
		url := fmt.Sprintf("%s://%s", strings.ToLower(protocol), net.JoinHostPort(ip, number))
		if p.Name != "" {
			out[name+"_SERVICE_PORT_"+envVarName(p.Name)] = number
		}
		if i == 0 {
			out[name+"_PORT"] = url
		}
		prefix := name + "_PORT_" + number + "_" + protocol
		out[prefix], out[prefix+"_PROTO"], out[prefix+"_PORT"], out[prefix+"_ADDR"] = url, strings.ToLower(protocol), number, ip
	}
}

func envVarName(name string) string { return strings.ToUpper(strings.ReplaceAll(name, "-", "_")) }
