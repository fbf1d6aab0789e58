package informers

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/berthproject/berth/api/v1alpha1"
	"github.com/berthproject/berth/internal/config"
)

// ReadDump reads the objects of files that `kubectl get -o yaml` or `-o json` wrote:
// single objects, lists, several YAML documents. It skips objects whose kind is neither a
// Kubernetes kind nor a Berth kind.
func ReadDump(files []string) ([]runtime.Object, error) {
	var out []runtime.Object
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if err := config.SplitDocuments(file, data, func(doc []byte) (err error) {
			out, err = decode(out, doc, false)
			return err
		}); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// decoder decodes Kubernetes' and Berth's kinds.
var decoder = func() runtime.Decoder {
	s := runtime.NewScheme()
	_ = scheme.AddToScheme(s) // never fails
	v1alpha1.AddToScheme(s)
	return serializer.NewCodecFactory(s).UniversalDeserializer()
}()

// decode appends the objects of one document or, if inList is set, of one item of a List.
func decode(out []runtime.Object, doc []byte, inList bool) ([]runtime.Object, error) {
	js, err := utilyaml.ToJSON(doc)
	if err != nil {
		return nil, err
	}
	var typeMeta metav1.TypeMeta
	if err := json.Unmarshal(js, &typeMeta); err != nil || typeMeta.Kind == "" || typeMeta.APIVersion == "" {
		return nil, errors.New("apiVersion or kind is missing: must be the complete output of kubectl get -o yaml or -o json")
	}
	o, kind, err := decoder.Decode(js, nil, nil)
	if runtime.IsNotRegisteredError(err) {
		return out, nil
	}
	if err != nil {
		return nil, describeDecodeError(js, err)
	}
	list, isList := o.(*corev1.List)
	if !isList {
		if !meta.IsListType(o) {
			return append(out, o), nil
		}
		items, err := meta.ExtractList(o)
		return append(out, items...), err
	}
	if inList { // each level would copy the document
		return nil, errors.New("a List in a List is not supported")
	}
	for i := range list.Items {
		if out, err = decode(out, list.Items[i].Raw, true); err != nil {
			return nil, fmt.Errorf("%s: items[%d]: %w", kind.Kind, i, err)
		}
	}
	return out, nil
}
