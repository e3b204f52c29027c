# Distributed under the Boost Software License, Version 1.0.
# What is applied to a cluster: every object is what Kubernetes takes, names lead to each other, and each argument is one that the webhook has.
# The chart is rendered by helm where there is one; else a small reading of its templates, of what they use and nothing more, stands in.
#   HEADROOM_WEBHOOK=…/headroom_webhook python3 test_manifests.py          it needs PyYAML
import json, os, pathlib, re, shutil, subprocess, sys, unittest

import yaml

FOLDER = pathlib.Path(__file__).parents[2] / "examples/kubernetes"
RELEASE = {"Name": "headroom-webhook", "Namespace": "headroom"}


def value_of(expression, scope):
    """.Values.a.b, "text", functions in a pipe: what the templates say."""
    def one(word):
        if word.startswith("("):
            return value_of(word[1:-1], scope)
        if word.startswith('"'):
            return word[1:-1]
        at = scope
        for key in word.lstrip(".").split("."):
            at = at[key]
        return at
    last = None
    for n, part in enumerate(expression.split(" | ") if "(" not in expression else [p for p in re.split(r" \| (?![^(]*\))", expression)]):
        words = re.findall(r'\([^)]*\)|"[^"]*"|\S+', part)
        name, *rest = words
        values = [one(w) for w in rest] + ([last] if n else [])
        if name == "toJson":
            last = json.dumps(values[0])
        elif name == "quote":
            last = json.dumps(str(values[0]))
        elif name == "default":
            last = values[1] or values[0]
        elif name == "printf":
            last = values[0] % tuple(values[1:])
        elif name == "required":
            assert values[1], values[0]
            last = values[1]
        else:
            last = one(name)
    return last


def rendered(text, scope):
    out, shown = [], [True]
    for line in text.splitlines():
        if control := re.fullmatch(r"\s*\{\{-? (if not|if|end) ?(\S*) ?\}\}", line):
            kind, what = control.groups()
            if kind == "end":
                shown.pop()
            else:
                shown.append(bool(value_of(what, scope)) == (kind == "if"))
        elif all(shown):
            out.append(re.sub(r"\{\{ (.*?) \}\}", lambda m: str(value_of(m[1], scope)), line))
    return "\n".join(out)


def chart(**values):
    """The chart's objects."""
    if shutil.which("helm"):
        said = [word for k, v in values.items() for word in ("--set-json", f"{k}={json.dumps(v)}")]
        run = subprocess.run(["helm", "template", RELEASE["Name"], FOLDER / "chart", "--namespace", RELEASE["Namespace"], *said], check=True, capture_output=True, text=True)
        return [o for o in yaml.safe_load_all(run.stdout) if o]
    about = yaml.safe_load((FOLDER / "chart/Chart.yaml").read_text())
    scope = {"Release": RELEASE, "Chart": {"Name": about["name"], "AppVersion": about["appVersion"]},
             "Values": {**yaml.safe_load((FOLDER / "chart/values.yaml").read_text()), **values}}
    return [o for file in sorted((FOLDER / "chart/templates").glob("*.yaml")) for o in yaml.safe_load_all(rendered(file.read_text(), scope)) if o]


def by_kind(objects):
    kinds = {o["kind"]: o for o in objects}
    assert len(kinds) == len(objects)
    return kinds


class Manifests(unittest.TestCase):
    def leads(self, objects):
        """Every name in it leads to what bears it, and the webhook takes its arguments."""
        all = by_kind(objects)
        for o in objects:
            self.assertRegex(o["apiVersion"], r"^([a-z0-9.-]+/)?v1$")
            self.assertRegex(o["metadata"]["name"], r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?$")
            if o["kind"] not in ("Namespace", "ValidatingWebhookConfiguration"):
                self.assertEqual(o["metadata"]["namespace"], "headroom")
        deployment, service, hook = all["Deployment"], all["Service"], all["ValidatingWebhookConfiguration"]["webhooks"][0]
        pod = deployment["spec"]["template"]
        labels = pod["metadata"]["labels"]
        for selector in (deployment["spec"]["selector"]["matchLabels"], service["spec"]["selector"]):
            self.assertLessEqual(selector.items(), labels.items())
        container = pod["spec"]["containers"][0]
        self.assertIn(service["spec"]["ports"][0]["targetPort"], [p["name"] for p in container["ports"]])
        client = hook["clientConfig"]["service"]
        self.assertEqual((client["name"], client["namespace"], client["path"], client["port"]), (service["metadata"]["name"], "headroom", "/admit", service["spec"]["ports"][0]["port"]))
        self.assertIn("matchLabels", hook["namespaceSelector"])
        self.assertEqual((hook["sideEffects"], hook["admissionReviewVersions"], hook["failurePolicy"]), ("None", ["v1"], "Ignore"))
        self.assertTrue(1 <= hook["timeoutSeconds"] <= 30)
        self.assertTrue(pod["spec"]["securityContext"]["runAsNonRoot"])
        mounts = {m["name"]: m["mountPath"] for m in container["volumeMounts"]}
        secrets = {v["name"]: v["secret"]["secretName"] for v in pod["spec"]["volumes"]}
        self.assertEqual(mounts.keys(), secrets.keys())
        for probe, path in (("readinessProbe", "/readyz"), ("livenessProbe", "/healthz")):
            self.assertEqual(container[probe]["httpGet"], {"path": path, "port": "https", "scheme": "HTTPS"})
        if "Certificate" in all:
            certificate = all["Certificate"]
            self.assertEqual(certificate["spec"]["secretName"], secrets["tls"])
            self.assertIn(f"{client['name']}.{client['namespace']}.svc", certificate["spec"]["dnsNames"])
            self.assertEqual(certificate["spec"]["issuerRef"]["name"], all["Issuer"]["metadata"]["name"])
            self.assertEqual(all["ValidatingWebhookConfiguration"]["metadata"]["annotations"]["cert-manager.io/inject-ca-from"], f"headroom/{certificate['metadata']['name']}")
        known = subprocess.run([os.environ["HEADROOM_WEBHOOK"], "--help"], capture_output=True, text=True).stdout
        for word in container["args"]:
            if word.startswith("--"):
                self.assertRegex(known, rf"{word.split('=')[0]}\b")
        return container["args"]

    def test_the_file(self):
        args = self.leads(list(yaml.safe_load_all((FOLDER / "webhook.yaml").read_text())))
        self.assertIn("--audit", args)

    def test_the_chart(self):
        args = self.leads(chart())
        self.assertEqual(args, ["--certificate=/tls/tls.crt", "--key=/tls/tls.key", "--listen=0.0.0.0:8443", "--log=all", "--audit"])
        args = self.leads(chart(audit=False, advice=False, confidence=0.95, port=9443, certManager=False, caBundle="QUJD"))
        self.assertEqual(args[2:], ["--listen=0.0.0.0:9443", "--log=all", "--no-advice", "--confidence=0.95"])

    def test_the_chart_says_what_it_lacks(self):
        with self.assertRaises((AssertionError, subprocess.CalledProcessError)):
            chart(certManager=False)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
