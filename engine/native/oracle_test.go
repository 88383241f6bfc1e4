//go:build cgo

package native_test

import (
	"math"

	"lathe/engine/native"
)

// forward64 is the Llama forward pass in float64, slowly and without a cache:
// logits of every position of one prompt, and the residual stream per stage.
// attnScale and rope angles follow Hugging Face's modeling_llama.py; the angle is
// rounded to float32 as backend.h demands.
func forward64(m *tiny, tokens []int32) (logits [][]float64, stages [][][]float64) {
	d, n := m.desc, len(tokens)
	x := make([][]float64, n)
	embed := m.get(native.RoleEmbed, -1)
	for i, tok := range tokens {
		x[i] = make([]float64, d.Hidden)
		for j := range x[i] {
			x[i][j] = float64(embed[int(tok)*d.Hidden+j])
		}
	}
	keep := func(rows [][]float64) {
		c := make([][]float64, n)
		for i := range rows {
			c[i] = append([]float64(nil), rows[i]...)
		}
		stages = append(stages, c)
	}
	keep(x)
	for l := range d.Layers {
		attention64(m, l, x)
		for i := range x {
			h := norm64(x[i], m.get(native.RoleNormFFN, l), d.RMSEps)
			g := mul64(m.get(native.RoleGate, l), m.get(native.RoleGateBias, l), h, d.FFN)
			u := mul64(m.get(native.RoleUp, l), m.get(native.RoleUpBias, l), h, d.FFN)
			for j := range g {
				g[j] = g[j] / (1 + math.Exp(-g[j])) * u[j]
			}
			add64(x[i], mul64(m.get(native.RoleDown, l), m.get(native.RoleDownBias, l), g, d.Hidden))
		}
		keep(x)
	}
	head := m.get(native.RoleHead, -1)
	if d.Tied {
		head = embed
	}
	final := make([][]float64, n)
	for i := range x {
		final[i] = norm64(x[i], m.get(native.RoleNormFinal, -1), d.RMSEps)
		logits = append(logits, mul64(head, nil, final[i], d.Vocab))
	}
	keep(final)
	return logits, stages
}

func attention64(m *tiny, l int, x [][]float64) {
	d, n := m.desc, len(x)
	q, k, v := make([][]float64, n), make([][]float64, n), make([][]float64, n)
	for i := range x {
		h := norm64(x[i], m.get(native.RoleNormAttn, l), d.RMSEps)
		q[i] = mul64(m.get(native.RoleQ, l), m.get(native.RoleQBias, l), h, d.QHeads*d.HeadDim)
		k[i] = mul64(m.get(native.RoleK, l), m.get(native.RoleKBias, l), h, d.KVHeads*d.HeadDim)
		v[i] = mul64(m.get(native.RoleV, l), m.get(native.RoleVBias, l), h, d.KVHeads*d.HeadDim)
		rope64(q[i], d, i)
		rope64(k[i], d, i)
	}
	group := d.QHeads / d.KVHeads
	for i := range x {
		out := make([]float64, d.QHeads*d.HeadDim)
		for h := range d.QHeads {
			qh, kv := q[i][h*d.HeadDim:(h+1)*d.HeadDim], h/group*d.HeadDim
			w, sum := make([]float64, i+1), 0.0
			for t := range w {
				for j, a := range qh {
					w[t] += a * k[t][kv+j]
				}
				w[t] = math.Exp(w[t] / math.Sqrt(float64(d.HeadDim)))
				sum += w[t]
			}
			for t := range w {
				for j := range qh {
					out[h*d.HeadDim+j] += w[t] / sum * v[t][kv+j]
				}
			}
		}
		add64(x[i], mul64(m.get(native.RoleO, l), m.get(native.RoleOBias, l), out, d.Hidden))
	}
}

func rope64(v []float64, d native.ModelDesc, pos int) {
	half := d.HeadDim / 2
	for h := 0; h < len(v); h += d.HeadDim {
		for i := range half {
			angle := float64(float32(pos) * d.InvFreq[i])
			c, s := math.Cos(angle)*float64(d.RopeScale), math.Sin(angle)*float64(d.RopeScale)
			a, b := v[h+i], v[h+i+half]
			v[h+i], v[h+i+half] = a*c-b*s, b*c+a*s
		}
	}
}

func norm64(x []float64, w []float32, eps float32) []float64 {
	sum := 0.0
	for _, v := range x {
		sum += v * v
	}
	scale := 1 / math.Sqrt(sum/float64(len(x))+float64(eps))
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = v * scale * float64(w[i])
	}
	return out
}

func mul64(w, bias []float32, x []float64, rows int) []float64 {
	out := make([]float64, rows)
	for o := range out {
		for j, v := range x {
			out[o] += float64(w[o*len(x)+j]) * v
		}
		if bias != nil {
			out[o] += float64(bias[o])
		}
	}
	return out
}

func add64(x, delta []float64) {
	for i, v := range delta {
		x[i] += v
	}
}
