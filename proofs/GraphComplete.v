(** What [check_graph] accepts is exactly what is right, [graph_right], as far as the work can be afforded. *)

From Coq Require Import ZArith QArith Reals Qreals Lra Lia Psatz String List Bool.
From Duotone Require Import Step Graph Table LineCheck LineCertificate GraphCheck GraphCertificate Balanced.
From Duotone Require Import Rounding GraphRight GraphFixed GraphChains.
Import ListNotations.
Open Scope R_scope.

Section Complete.
Variables (one : Z) (y above d : Q) (P A : privacy) (c : certificate).
Hypotheses (ratio_P : ratio P = Q2R y) (delta_P : delta P = Q2R d).
Hypotheses (ratio_A : ratio A = Q2R above) (delta_A : delta A = Q2R d).
Hypotheses (one_positive : (0 < one)%Z) (parts_enough : (LOSS | one)%Z).

Notation down := (rounded_down one).
Notation up := (rounded_up one).
Notation part := (part one).

Let node_of := by_name (nodes c).
Let beside := join_all (edges c).
Let fixed := fix_all c node_of.
Let paths := by_name (lowered c).

Hypothesis edges_known : forall a b, In (a, b) (edges c) -> a <> b /\ known c a <> None /\ known c b <> None.
Hypothesis in_range : forall n v, In (n, v) (nodes c) -> (0 <= says_truth v <= one)%Z.

Let fixed_iff n v : Names.find n fixed = Some v <-> known c n = Some v /\ is_fixed c n := fixed_iff c edges_known n v.
Let known_range n v : known c n = Some v -> (0 <= says_truth v <= one)%Z.
Proof. intros K. apply find_by_name in K. eapply in_range, K. Qed.

Lemma fixed_known n : is_fixed c n -> exists v, known c n = Some v.
Proof.
  assert (G : forall b, @near (graph_of c) n b -> exists v, known c n = Some v).
  { intros b [I | I]; apply edges_known in I; destruct I as (_ & ? & ?), (known c n); try congruence; eauto. }
  intros [[_ (b & E & _)] | [_ [_ (b & E & _)]]]; eapply G, E.
Qed.

Lemma fixed_mem n : Names.mem n fixed = true <-> is_fixed c n.
Proof.
  rewrite mem_iff. split.
  - destruct (Names.find n fixed) as [v|] eqn:F; [intros _; apply fixed_iff in F; apply F | congruence].
  - intros F. destruct (fixed_known n F) as [v K]. rewrite (proj2 (fixed_iff n v) (conj K F)). congruence.
Qed.

Lemma values_iff : well_formed c fixed = true <-> values_right c.
Proof.
  unfold well_formed, values_right. destruct (values c) as [b | m]; rewrite andb_true_iff.
  - assert (L : (match lowered c with [] => true | _ => false end) = true <-> lowered c = []) by
      (destruct (lowered c); intuition congruence).
    rewrite L. apply and_iff_compat_r. destruct b as [| m |]; simpl.
    + intuition.
    + rewrite value_iff. split; [intros H; right; exists m; auto | intros [H | (m' & [= <-] & H)]; [discriminate | exact H]].
    + split; [discriminate | intros [H | (m & H & _)]; discriminate].
  - unfold same_keys. rewrite andb_true_iff, !forallb_forall. split.
    + intros ((A1 & A2) & B). split; [|intros e I; apply fixed_mem, B, I]. intros n. split.
      * intros N. destruct (Names.find n m) as [v|] eqn:F; [|congruence]. apply fixed_mem, (A1 (n, v)), element_of, F.
      * intros F. destruct (fixed_known n F) as [v K]. apply mem_iff, (A2 (n, v)), element_of, fixed_iff. auto.
    + intros (A1 & B). split; [split|]; intros e I.
      * apply fixed_mem, A1. destruct e as [n v]. apply find_element in I. simpl. congruence.
      * destruct e as [n v]. apply find_element, fixed_iff in I. apply mem_iff, A1, I.
      * apply fixed_mem, B, I.
Qed.

Lemma edges_iff :
  (forall e, In e (edges c) -> edge_private one (allowed one y d) node_of e = true) <-> private P (table_of one c).
Proof.
  assert (S : forall n v, known c n = Some v -> (0 <= says one v true <= one)%Z).
  { intros n v K. pose proof (known_range _ _ K). unfold says; destruct (eqb _ _); lia. }
  assert (E : forall a b, In (a, b) (edges c) -> (edge_private one (allowed one y d) node_of (a, b) = true <->
    hidden P (table_of one c a) (table_of one c b) /\ hidden P (table_of one c b) (table_of one c a))).
  { intros a b I. destruct (edges_known a b I) as (N & Ka & Kb). unfold edge_private, table_of; cbn [fst snd].
    destruct (known c a) as [v|] eqn:Va; [|congruence]. destruct (known c b) as [u|] eqn:Vb; [|congruence].
    pose proof (S _ _ Va). pose proof (S _ _ Vb). unfold known in Va, Vb; fold node_of in Va, Vb. rewrite Va, Vb.
    rewrite andb_true_iff, negb_true_iff, String.eqb_neq, (allowed_iff one y d one_positive P) by assumption. tauto. }
  split.
  - intros H. split.
    + intros n. unfold table_of. destruct (known c n) as [v|] eqn:K; [|split; lra]. apply part_probability; eauto.
    + intros a b [I | I]; apply E in I as G; apply G, H, I.
  - intros [_ H] [a b] I. apply E; [exact I|]. split; apply H; [left | right]; exact I.
Qed.

End Complete.

Section Verdict.
Variables (one : Z) (y above d : Q) (P A : privacy) (c : certificate).
Hypotheses (ratio_P : ratio P = Q2R y) (delta_P : delta P = Q2R d).
Hypotheses (ratio_A : ratio A = Q2R above) (delta_A : delta A = Q2R d).
Hypotheses (one_positive : (0 < one)%Z) (parts_enough : (LOSS | one)%Z).

(** A loop that comes through has looked at every entry. *)
Lemma loop_range beside fixed l start
    (check := check_node one (allowed one y d) (ceiling one above d) c (by_name (nodes c)) beside fixed) :
  fold_left check l start <> None -> forall e, In e l -> (0 <= says_truth (snd e) <= one)%Z.
Proof.
  revert start; induction l as [| e l IH]; intros start H; [intros ? []|]. intros e' [<- | I]; [|eapply IH; eassumption].
  cbn [fold_left] in H. assert (F : forall l, fold_left check l None = None) by (induction l0; auto).
  destruct start as [tops|]; [|cbn in H; rewrite F in H; congruence]. unfold check at 2, check_node in H.
  destruct (_ && _) eqn:R in H; [|rewrite F in H; congruence]. rewrite !andb_true_iff, !Z.leb_le in R. tauto.
Qed.

(** What is accepted is what is right, as far as the work can be afforded. *)
Theorem check_graph_iff :
  check_graph one y above d c = true <-> affordable c (size_of one y above d) = true /\ graph_right one P A c.
Proof.
  unfold check_graph, check_nodes, graph_right. rewrite !andb_true_iff, forallb_forall.
  assert (N : (match nodes c with [] => false | _ => true end) = true <-> nodes c <> []) by (destruct (nodes c);
    intuition congruence).
  rewrite N; clear N.
  assert (S : forall r : option (Names.t Z), (match r with Some _ => true | None => false end) = true <-> r <> None) by
    (intros [|]; intuition congruence).
  rewrite S; clear S. split.
  - intros ((((N & W) & E) & V) & L). pose proof (loop_range _ _ _ _ L) as R.
    assert (K : forall a b, In (a, b) (edges c) -> a <> b /\ known c a <> None /\ known c b <> None).
    { intros a b I. specialize (E _ I). unfold edge_private in E. unfold known; cbn [fst snd] in E.
      destruct (Names.find a _); [|discriminate]. destruct (Names.find b _); [|discriminate].
      rewrite andb_true_iff, negb_true_iff, String.eqb_neq in E. repeat split; congruence || apply E. }
    pose proof (fun n v => R (n, v)) as R'. cbn [snd] in R'.
    rewrite (values_iff c K) in V. apply (edges_iff one y d P c) in E; try assumption.
    apply (loops_iff one y above d P A c) in L; try assumption. destruct L as [F H].
    split; [exact W|]. split; [exact N|]. split; [intros e I; split; [apply R, I | apply H, I]|]. do 4 (split; [assumption|]).
    intros n v Kn. apply find_by_name in Kn as I. destruct (H _ I) as (_ & v' & K' & G). cbn [fst] in *.
    replace v with v' by congruence. exact G.
  - intros (W & N & RH & K & E & V & F & H). assert (R : forall n v, In (n, v) (nodes c) -> (0 <= says_truth v <= one)%Z).
    { intros n v I. apply (RH (n, v) I). }
    split; [split; [split; [split; assumption|]|]|].
    + apply (edges_iff one y d P c); assumption.
    + apply values_iff; assumption.
    + apply (loops_iff one y above d P A c); try assumption. split; [exact F|]. intros [n v] I. split; [apply (RH _ I)|].
      destruct (find_listed _ _ _ I) as [u Ku]. exists u. split; [exact Ku | apply H, Ku].
Qed.

End Verdict.
