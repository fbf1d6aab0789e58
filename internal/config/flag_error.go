package config

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// NameFlag prepends a flag to each error that starts with the name of one of its files, and to errors of opening them.
func NameFlag(err error, flag string, files ...string) error {
	var list []error
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		list = slices.Clone(joined.Unwrap())
	} else if err != nil {
		list = []error{err}
	}
	for i, e := range list {
		pathErr := (*fs.PathError)(nil)
		if errors.As(e, &pathErr) && slices.Contains(files, pathErr.Path) {
			list[i] = fmt.Errorf("%s %s: %w", flag, pathErr.Path, pathErr.Err)
		} else if slices.ContainsFunc(files, func(f string) bool { return strings.HasPrefix(e.Error(), f+":") }) {
			list[i] = fmt.Errorf("%s %w", flag, e)
		}
	}
	return errors.Join(list...)
}
