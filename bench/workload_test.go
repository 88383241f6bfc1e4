package bench

import "testing"

// The sum was made by sha256sum(1).
func TestWorkloadIdentity(t *testing.T) {
	w := Workload{Kind: "one-batch", Model: "a<b", BatchSizes: []int{1, 8}, Seed: 1<<64 - 1}
	got, err := w.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	want := `{"batch_sizes":[1,8],"kind":"one-batch","model":"a<b","seed":18446744073709551615}`
	if string(got) != want {
		t.Errorf("canonical %s\nwant      %s", got, want)
	}
	sum, err := w.SHA256()
	if err != nil || sum != "67493021c48d35fce643277162aa09c70cd9d0c4bf50b63f6495bc37f42b571f" {
		t.Errorf("sha256 %s, %v", sum, err)
	}
}
