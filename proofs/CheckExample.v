(** Not in vain: a certificate that the package wrote, of the paper's balanced mechanism at (log 2, 0.1), is accepted; with one
    part of 2^128 more or less, with a larger ratio, or with another claim, it is not. *)

From Coq Require Import ZArith String List.
From Duotone Require Import ReadCertificate.
Import ListNotations.
Open Scope string_scope.

Definition example (ratio first second claim : string) : json :=
  let side := Items [Text first; Text second; Text "340282366920938463463374607431768211455";
                     Text "340282366920938463463374607431768211456"] in
  let error := Items [Text "0.3"; Text "0.1"; Text "2.938735877055719e-39"; Text "0.0"] in
  Object [("certificate", Text "line"); ("version", Integer 1);
          ("privacy", Object [("epsilon", Null); ("ratio", Text ratio); ("delta", Text "1/10")]); ("bits", Integer 128);
          ("claims", Object [("private", Truth true); ("optimal", Truth true); ("loss", Text claim)]);
          ("boundary", Text "balanced"); ("blue", side); ("red", side);
          ("error", Object [("blue", error); ("red", error)])].

Definition first := "238197656844656924424362225202237748019".
Definition second := "306254130228844617117037146688591390310".

Example accepted : check (example "2" first second "2^-60") = Some (Line, 8%Z).
Proof. vm_compute; reflexivity. Qed.

Example refused :
  check (example "2" "238197656844656924424362225202237748020" second "2^-60") = None /\
  check (example "2" first "306254130228844617117037146688591390311" "2^-60") = None /\
  check (example "2" first "306254130228844617117037146688591390309" "2^-60") = None /\
  check (example "201/100" first second "2^-60") = None /\ check (example "2" first second "2^-61") = None.
Proof. vm_compute; repeat split. Qed.
