package config

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
)

// SplitDocuments calls each for every non-empty YAML document of a file. Errors name the
// file and the document.
func SplitDocuments(file string, data []byte, each func(doc []byte) error) error {
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for n := 1; ; n++ {
		doc, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil && len(bytes.TrimSpace(doc)) > 0 {
			err = each(doc)
		}
		if err != nil {
			return fmt.Errorf("%s: document %d: %w", file, n, err)
		}
	}
}
