package tokenizer_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lathe/engine/tokenizer"
)

func render(t *testing.T, source string, c tokenizer.Conversation) (string, error) {
	t.Helper()
	template, err := tokenizer.ParseChatTemplate(source, map[string]string{"bos_token": "<s>", "eos_token": "</s>"})
	if err != nil {
		t.Fatal(err)
	}
	if c.Messages == nil {
		c.Messages = tokenizer.PlainMessages()
	}
	return template.Render(c)
}

// TestChatJinja: what Jinja2 3.1.6 with transformers' settings gives, for the parts where template engines differ.
func TestChatJinja(t *testing.T) {
	var cases []struct{ Name, Source, Messages, Tools, Want, Raises string }
	data, err := os.ReadFile("testdata/jinja.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) < 30 {
		t.Fatalf("only %d cases", len(cases))
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			conversation := tokenizer.Conversation{
				AddGenerationPrompt: true, Messages: json.RawMessage(c.Messages), Tools: json.RawMessage(c.Tools),
				Now: time.Date(2026, 11, 5, 7, 8, 9, 0, time.UTC),
			}
			got, err := render(t, c.Source, conversation)
			var raised *tokenizer.RaisedError
			switch {
			case c.Raises != "":
				if !errors.As(err, &raised) || raised.Message != c.Raises || !strings.Contains(err.Error(), c.Raises) {
					t.Errorf("error %v, want the refusal %q", err, c.Raises)
				}
			case err != nil:
				t.Error(err)
			case got != c.Want:
				t.Errorf("got  %q\nwant %q", got, c.Want)
			}
		})
	}
}

func TestChatTemplateErrors(t *testing.T) {
	for name, source := range map[string]string{
		"unclosed block":   "{% if x %}a",
		"unknown block":    "{% frobnicate %}",
		"unclosed output":  "{{ x",
		"dangling concat":  "{{ 'a' ~ }}",
		"concat alone":     "{{ ~ }}",
		"unknown filter":   "{{ 'a'|nosuchfilter }}",
		"unended string":   "{{ 'a ~ }}",
		"include of files": "{% include '/etc/hostname' %}",
		"import of files":  "{% import '/etc/hostname' as x %}",
		"extends a file":   "{% extends '/etc/hostname' %}",
		"divide by zero":   "{{ 1 % 0 }}",
		"index of none":    "{{ messages[0].content.x.y.z }}",
	} {
		t.Run(name, func(t *testing.T) {
			template, err := tokenizer.ParseChatTemplate(source, nil)
			if err == nil {
				_, err = template.Render(tokenizer.Conversation{Messages: tokenizer.PlainMessages()})
			}
			if err == nil {
				t.Fatal("no error")
			}
			if len(err.Error()) > 1000 {
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
		})
	}
}

func TestChatMessagesMustBeJSON(t *testing.T) {
	for _, messages := range []string{"", "[", "[1] 2", strings.Repeat("[", 5000)} {
		if got, err := render(t, "{{ messages|length }}", tokenizer.Conversation{Messages: json.RawMessage(messages + " ")}); err == nil {
			t.Errorf("messages %.10q gave %q, want an error", messages, got)
		}
	}
}

func TestReadChatTemplate(t *testing.T) {
	write := func(t *testing.T, files map[string]string) string {
		dir := t.TempDir()
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	named := `{"chat_template":[{"name":"default","template":"D{{bos_token}}"},{"name":"tool_use","template":"T{{eos_token}}"}],` +
		`"bos_token":{"content":"<B>"},"eos_token":"<E>"}`
	for _, c := range []struct {
		name  string
		files map[string]string
		tools string
		want  string
	}{
		{"text", map[string]string{"tokenizer_config.json": `{"chat_template":"x{{ messages|length }}"}`}, "", "x0"},
		{"named", map[string]string{"tokenizer_config.json": named}, "", "D<B>"},
		{"named with tools", map[string]string{"tokenizer_config.json": named}, `[{"name":"f"}]`, "T<E>"},
		{"file wins", map[string]string{"tokenizer_config.json": named, "chat_template.jinja": "F{{ bos_token }}\n"}, "", "F<B>"},
		{"file alone", map[string]string{"chat_template.jinja": "F{{ bos_token }}"}, "", "F"},
	} {
		t.Run(c.name, func(t *testing.T) {
			template, err := tokenizer.ReadChatTemplate(write(t, c.files))
			if err != nil {
				t.Fatal(err)
			}
			got, err := template.Render(tokenizer.Conversation{Messages: tokenizer.PlainMessages(), Tools: json.RawMessage(c.tools)})
			if err != nil || got != c.want {
				t.Errorf("got %q, %v; want %q", got, err, c.want)
			}
		})
	}
	for _, files := range []map[string]string{{}, {"tokenizer_config.json": `{}`}, {"tokenizer_config.json": `{"chat_template":null}`}} {
		if _, err := tokenizer.ReadChatTemplate(write(t, files)); !errors.Is(err, tokenizer.ErrNoChatTemplate) {
			t.Errorf("%v: error %v, want ErrNoChatTemplate", files, err)
		}
	}
	for _, text := range []string{`{`, `{"chat_template":7}`, `{"chat_template":"{% if %}"}`} {
		_, err := tokenizer.ReadChatTemplate(write(t, map[string]string{"tokenizer_config.json": text}))
		var e *tokenizer.Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), "tokenizer_config.json") {
			t.Errorf("%s: error %v, want an *Error that names the file", text, err)
		}
	}
}

// chatCase is one rendering of the golden conversations.
type chatCase struct {
	N                   int
	Note                string
	Messages            json.RawMessage
	AddGenerationPrompt bool `json:"add_generation_prompt"`
	Text                string
	IDs                 []int32
}

func readChatGolden(t *testing.T) (template string, cases []chatCase) {
	t.Helper()
	var golden struct {
		Template string
		Cases    []chatCase
	}
	data, err := os.ReadFile("testdata/chat-smollm2.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &golden); err != nil {
		t.Fatal(err)
	}
	if len(golden.Cases) != 28 {
		t.Fatalf("%d renderings, want 28", len(golden.Cases))
	}
	return golden.Template, golden.Cases
}

func TestGoldenChatText(t *testing.T) {
	source, cases := readChatGolden(t)
	for _, c := range cases {
		got, err := render(t, source, tokenizer.Conversation{Messages: c.Messages, AddGenerationPrompt: c.AddGenerationPrompt})
		if err != nil || got != c.Text {
			t.Errorf("case %d (%s): %q, %v; want %q", c.N, c.Note, got, err, c.Text)
		}
	}
}
