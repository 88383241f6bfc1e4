package bench

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// Canonical is the workload as JSON with sorted keys and no spaces.
func (w Workload) Canonical() ([]byte, error) {
	data, err := json.Marshal(w)
	if err != nil {
		return nil, fmt.Errorf("canonical workload: %w", err)
	}
	var tree any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber() // a seed above 2^53 keeps its digits
	if err := d.Decode(&tree); err != nil {
		return nil, fmt.Errorf("canonical workload: %w", err)
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(tree); err != nil { // sorts the keys of maps
		return nil, fmt.Errorf("canonical workload: %w", err)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// SHA256 is the workload's identity: the hexadecimal sha256 of Canonical.
func (w Workload) SHA256() (string, error) {
	data, err := w.Canonical()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}
